"""Files: checkpoints in PyTorch's own format, and safetensors.

>>> import lamina, tempfile
>>> model = lamina.nn.Linear(2, 1)
>>> with tempfile.TemporaryDirectory() as folder:
...     lamina.save(model.state_dict(), f"{folder}/weights.pt")
...     model.load_state_dict(lamina.load(f"{folder}/weights.pt"))
<All keys matched successfully>
"""

from lamina.io.loading import load
from lamina.io.safetensors import load_file as load_safetensors
from lamina.io.safetensors import save_file as save_safetensors
from lamina.io.saving import save

__all__ = ["load", "load_safetensors", "save", "save_safetensors"]
