"""Importing this imports every chapter of operations, so that the catalogue is complete."""

import importlib
import pkgutil

import lamina.ops

for _chapter in pkgutil.iter_modules(lamina.ops.__path__, "lamina.ops."):
    importlib.import_module(_chapter.name)
