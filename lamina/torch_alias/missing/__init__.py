"""What a program uses of PyTorch that Lamina lacks, found by reading it: nothing is run.

| file | what it holds |
|---|---|
| `program.py` | the program's files: the script, and the modules it imports from its own folder |
| `bindings.py` | what the names in a file stand for |
| `uses.py` | the names of PyTorch's that a file uses, and where |
| `report.py` | which of them are missing, and the text that says so |
"""

from lamina.torch_alias.missing.report import command

__all__ = ["command"]
