"""`torch.hub`: Lamina fetches no programs and no weights."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from lamina.errors import NotSupported

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

_folders: dict[str, str] = {}


def get_dir() -> str:
    """The folder for what programs fetch themselves: `$TORCH_HOME/hub`, or as `set_dir` said."""
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    home = os.getenv("TORCH_HOME", os.path.join(cache, "torch"))
    return _folders.get("hub") or os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set what `get_dir` answers."""
    _folders["hub"] = os.path.expanduser(d)


def _refuse(what: str, repair: str) -> NoReturn:
    raise NotSupported(
        f"torch.hub fetches {what} from the network, which Lamina does not", help=[repair]
    )


def load(repo_or_dir: Any, model: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse: programs from elsewhere are fetched by you, and imported.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("programs", f"clone {repo_or_dir}, and import its `{model}` as a module")


def list(github: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse, like `load`.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("programs", f"read `hubconf.py` of {github}")


def help(github: Any, model: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse, like `load`.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("programs", f"read `{model}` in `hubconf.py` of {github}")


def load_state_dict_from_url(url: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse: weights are fetched by you, and loaded from the file.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("weights", f"download {url} and give the file to `torch.load`")


def download_url_to_file(url: str, dst: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse, like `load_state_dict_from_url`.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("files", f"download {url} to {dst}")
