"""`import torch` means Lamina: in a block (`as_torch`), or for a whole program (`lamina run`).

| file | what it holds |
|---|---|
| `scope.py` | `as_torch`, and `install` for a whole process |
| `modules.py` | the modules called `torch...`, and the finder that gives them to `import` |
| `sources.py` | where Lamina keeps what a module of PyTorch's holds |
| `shims/` | modules of PyTorch's that Lamina has only for programs that ask for them |
| `missing_names.py`, `asking.py` | the error for a name that is missing, and who asked for it |
| `late.py` | names that Lamina lacks, where a program only mentions them: imports, annotations |
| `installed.py` | the package `torch` for `importlib.metadata` |
| `pytorch.py`, `pytorch_names.txt` | which names PyTorch has |
| `children.py` | processes that are started anew inherit the alias |
| `running.py` | a program run as `python program.py` runs it |
| `missing/` | `lamina run --missing`: what a program uses that Lamina lacks, found by reading it |
"""

from lamina.torch_alias.scope import as_torch, install, is_installed

__all__ = ["as_torch", "install", "is_installed"]
