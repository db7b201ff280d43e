"""Tasks of machine code, compiled when first used, and shared by the threads of the pool."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import final

from lamina.codegen.llvm.ir import Function, module
from lamina.codegen.llvm.machine import Machine
from lamina.codegen.llvm.threads import pool


@final
class Library:
    """Tasks that were compiled together.

    Args:
        functions: The tasks, and what they call.
    """

    def __init__(self, functions: Sequence[Function]) -> None:
        pool()  # of which tasks call functions
        self._machine = Machine(module(functions))
        self._addresses = {each.name: self._machine.address_of(each.name) for each in functions}

    def run(self, task: str, table: Sequence[int], count: int, grain: int) -> None:
        """Do all pieces of a task, `grain` of them at a time.

        Args:
            task: Its name.
            table: Addresses of memory, sizes and numbers, as the task wants them.
            count: How many pieces there are.
            grain: How many of them one thread does in one go.
        """
        numbers = (ctypes.c_int64 * len(table))(*table)
        pool().run(self._addresses[task], ctypes.addressof(numbers), count, max(grain, 1))
