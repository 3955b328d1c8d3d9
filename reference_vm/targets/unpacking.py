"""Kernels of a library that are given matrices in panels: they put them back in order first.

A program says which matrices lie in panels. One that was compiled for kernels of our own and is
loaded where those cannot be made still runs so, at the price of a copy for each call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from reference_vm.bytecode.kernel import Kernel, NativeCall
from reference_vm.ir.nodes import Function
from reference_vm.jit.panels import host_width, packed_shape, unpack
from reference_vm.types import AttrValue
from reference_vm.types.dtype import DType


@final
@dataclass(frozen=True, slots=True)
class Panels:
    """A parameter that lies in panels."""

    param: int
    dtype: DType
    rows: int
    columns: int

    def in_order(self, given: Any) -> Any:
        """Return the matrix; ``given`` has its dims, and its address is that of the panels."""
        width = host_width(self.dtype)
        shape = packed_shape(self.rows, self.columns, width)
        count = int(np.prod(shape)) * given.dtype.itemsize
        memory = (ctypes.c_char * count).from_address(given.ctypes.data)
        return unpack(np.frombuffer(memory, given.dtype).reshape(shape), self.columns)


@final
@dataclass(frozen=True, slots=True)
class UnpackingKernel:
    """A kernel of a library, given some operands in panels."""

    kernel: Kernel
    panels: tuple[Panels, ...]

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def ops(self) -> tuple[str, ...]:
        return self.kernel.ops

    @property
    def library(self) -> bool:
        return self.kernel.library

    @property
    def can_fail(self) -> bool:
        return self.kernel.can_fail

    def native(self, inputs: Sequence[Any]) -> NativeCall | None:
        """Return nothing: a library is called from Python."""
        return None

    def __call__(
        self, xp: Any, inputs: Sequence[Any], outputs: Sequence[Any | None]
    ) -> Sequence[Any]:
        given = list(inputs)
        for panels in self.panels:
            given[panels.param] = panels.in_order(given[panels.param])
        return self.kernel(xp, given, outputs)


def unpacking(kernel: Kernel, function: Function, panels: tuple[AttrValue, ...]) -> Kernel:
    """Return ``kernel`` for operands of ``function`` that lie in panels, by their indices."""
    found = []
    for index in panels:
        assert isinstance(index, int)
        type_ = function.params[index].tensor
        assert type_.shape is not None
        rows, columns = type_.shape
        assert isinstance(rows, int)
        assert isinstance(columns, int)
        found.append(Panels(index, type_.dtype, rows, columns))
    return UnpackingKernel(kernel, tuple(found))
