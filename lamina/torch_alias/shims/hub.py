"""`torch.hub`: what libraries take from it beside its functions."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlparse

__all__ = ["HASH_REGEX", "urlparse"]

HASH_REGEX: Final = re.compile(r"-([a-f0-9]*)\.")
"""The hash in the name of a file of weights: `resnet18-f37072fd.pth`."""
