"""Makes kernels of stft and dft of real tensors: a product with the matrix of the transform.

Frames are rows of the signal, a step apart, which may overlap; with a window they are copied and
multiplied first. Left to the library, which transforms fast: more points than `MAX_POINTS`, complex
tensors, inverse transforms, and axes that elements do not follow one another on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from reference_vm.bytecode.kernel import Dims, Kernel, NativeCall, Stage
from reference_vm.ir.nodes import Call, Function, Var
from reference_vm.ops.host_values import integer
from reference_vm.ops.signal import check_frames
from reference_vm.targets.numba.dots import block_columns
from reference_vm.targets.numba.fourier_code import (
    FRAMES,
    TRANSFORM,
    FourierForm,
    print_frames,
    print_transform,
)
from reference_vm.targets.numba.making import Tools, single_call, staged_kernel
from reference_vm.targets.numba.printed import compiled
from reference_vm.targets.numba.vectors import lanes, registers
from reference_vm.types import TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import F32, F64

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

MAX_POINTS: Final = 1024

_CHUNKS: Final = 8


def make(function: Function, tools: Tools) -> Kernel | None:
    """Return the kernel of a Fourier transform; see `making.Maker`."""
    single = single_call(function)
    if single is None:
        return None
    binding, constants = single
    call, type_ = binding.value, binding.var.type
    if not isinstance(call, Call) or call.op not in ("stft", "dft"):
        return None
    if not isinstance(type_, TensorType) or type_.dtype not in (F32, F64):
        return None
    if call.attrs.get("inverse", False):
        return None
    op = tools.ops[call.op]
    places = tuple(
        function.params.index(a) if isinstance(a, Var) and a not in constants else None
        for a in call.args
    )
    told = tuple(constants.get(a) for a in call.args)
    if any(not op.is_host_operand(i) for i, value in enumerate(told) if value is not None):
        return None
    hosts = frozenset(p for i, p in enumerate(places) if p is not None and op.is_host_operand(i))
    plan = _Planner(call, places, told, type_, tools.machine)
    return staged_kernel(function, tools, plan.plan, (to_numpy(type_.dtype),), hosts)


@final
@dataclass(frozen=True, slots=True)
class _Frames:
    """What is transformed: real frames of signals that follow one another."""

    signals: int
    size: int
    """Elements of a signal."""

    frames: int
    """Of each signal."""

    step: int
    length: int
    """Elements of a frame that there are."""

    points: int
    """Of the transform; more than there are elements: the others are 0."""


@final
@dataclass
class _Planner:
    """Turns dims and host operands into stages."""

    call: Call
    places: Sequence[int | None]
    """Which of the kernel's inputs each operand is."""

    told: Sequence[Any]
    """The operands that are constants, ``None`` for the others."""

    type: TensorType
    machine: Machine

    def plan(self, inputs: Sequence[Dims | Any]) -> NativeCall | None:
        """Return the stages; see `staged.Planner`."""
        given: list[Any] = [
            value if p is None else inputs[p]
            for p, value in zip(self.places, self.told, strict=True)
        ]
        given += [None] * (4 - len(given))
        found = _stft(*given) if self.call.op == "stft" else _dft(*given[:3])
        if found is None or found.points > MAX_POINTS:
            return None
        onesided = bool(self.call.attrs["onesided"])
        bins = found.points // 2 + 1 if onesided else found.points
        windowed = self.call.op == "stft" and given[2] is not None
        tensors = [self.places[0], self.places[2] if windowed else None]
        sources = tuple(p for p in tensors if p is not None)
        kind = lanes(self.type.dtype, registers(self.machine.features))
        form = FourierForm(kind, 0, 1 if windowed else None, len(sources))
        stages = _Stages(self.machine, form, found, 2 * bins)
        stages.plan(to_numpy(self.type.dtype))
        shape = self._shape(given[0], found, bins)
        owner = (self.machine, stages.kept)
        return NativeCall(sources, (shape,), tuple(stages.stages), stages.workspace, owner)

    def _shape(self, x: Dims, found: _Frames, bins: int) -> Dims:
        if self.call.op == "stft":
            return (found.signals, found.frames, bins, 2)
        return (*x[:-2], bins, 2)


def _stft(signal: Dims, frame_step: Any, window: Any, frame_length: Any) -> _Frames | None:
    if len(signal) == 3 and signal[2] != 1:
        return None
    step = integer(frame_step)
    length = signal[1] if window is None else window[0]
    length = length if frame_length is None else integer(frame_length)
    check_frames(signal[1], length, step, None if window is None else window[0])
    frames = (signal[1] - length) // step + 1
    return _Frames(signal[0], signal[1], frames, step, length, length)


def _dft(x: Dims, length: Any, axis: Any) -> _Frames | None:
    along = -2 if axis is None else integer(axis)
    if x[-1] != 1 or along not in (-2, len(x) - 2):
        return None
    size = x[-2]
    points = size if length is None else integer(length)
    if points < 1:
        return None
    rows = int(np.prod(x[:-2], dtype=np.int64))
    return _Frames(1, rows * size, rows, size, min(size, points), points)


@final
@dataclass
class _Stages:
    """The stages of one transform."""

    machine: Machine
    form: FourierForm
    frames: _Frames
    rows: int
    stages: list[Stage] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    workspace: int = 0

    def plan(self, dtype: Any) -> None:
        if self.form.window is not None:
            self._window()
        self._transform(_matrix(self.frames.points, self.rows // 2, dtype.str))

    def _window(self) -> None:
        f, words = self.frames, self.form.words(FRAMES)
        count = f.signals * f.frames
        self.workspace = count * f.length * self.form.lanes.bytes
        block = words.block(
            windowed=0, signal=f.size, frames=f.frames, step=f.step, length=f.length
        )
        self._add("frames", print_frames, block, count, count * f.length, words.workspace)

    def _transform(self, matrix: Any) -> None:
        f, form, words = self.frames, self.form, self.form.words(TRANSFORM)
        self.kept.append(matrix)
        blocks = -(-f.frames // block_columns(form.lanes))
        least = -(-self.rows // max(1, -(-_CHUNKS // max(1, f.signals * blocks))))
        chunk = -(-least // form.lanes.count) * form.lanes.count
        chunks = -(-self.rows // chunk)
        windowed = form.window is not None
        block = words.block(
            matrix=matrix.ctypes.data,
            matrix_row=f.points,
            rows=self.rows,
            windowed=0,
            signal=f.frames * f.length if windowed else f.size,
            distance=f.length if windowed else f.step,
            depth=f.length,
            frames=f.frames,
            blocks=blocks,
            chunk=chunk,
            chunks=chunks,
        )
        work = f.signals * f.frames * self.rows * f.length
        high = f.signals * blocks * chunks
        self._add("transform", print_transform, block, high, work, words.workspace)

    def _add(self, kind: str, text: Any, block: Any, high: int, work: int, workspace: int) -> None:
        entry = compiled(self.machine, kind, self.form, lambda: text(self.form))
        self.stages.append(Stage(entry, block, 0, high, work, workspace_word=workspace))


@lru_cache(maxsize=8)
def _matrix(points: int, bins: int, dtype: str) -> Any:
    """Return the matrix: for each bin a row of cosines and one of negative sines."""
    order = np.arange(points, dtype=np.int64)
    phase = (np.outer(np.arange(bins, dtype=np.int64), order) % points) * (2 * np.pi / points)
    rows = np.stack([np.cos(phase), -np.sin(phase)], axis=1)
    return np.ascontiguousarray(rows.reshape(2 * bins, points), dtype)


__all__ = ["MAX_POINTS", "make"]
