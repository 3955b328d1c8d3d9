"""Windows over spatial axes: where those of convolutions and pools lie, and how many there are.

ONNX's rules. A window of ``kernel`` elements, ``dilation`` apart, starts every ``stride`` elements
of the padded axis. With ``ceil_mode`` the last window may reach beyond the padding, but none starts
behind the data and the padding before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, final

from reference_vm.ops.definition import Array, Attr, DataError, Namespace, OpCall
from reference_vm.ops.shapes import greatest, least
from reference_vm.types import Dim, Shape
from reference_vm.types import dim as dims

AUTO_PADS: Final = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")

OPTIONAL_TUPLE: Final = Attr((tuple, type(None)), None)

ATTRS: Final[Mapping[str, Attr]] = MappingProxyType(
    {
        "strides": OPTIONAL_TUPLE,
        "pads": OPTIONAL_TUPLE,
        "dilations": OPTIONAL_TUPLE,
        "auto_pad": Attr((str,), "NOTSET", AUTO_PADS),
    }
)
"""What every operator with windows has: one number an axis, for ``pads`` one for each side."""


@final
@dataclass(frozen=True, slots=True)
class Windows:
    """How windows lie on the spatial axes."""

    kernel: Shape
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    """Before each axis, then behind each axis; of no effect unless ``auto_pad`` is ``NOTSET``."""

    auto_pad: str
    ceil_mode: bool

    def extent(self, axis: int) -> Dim:
        """Return how many elements a window spans, those it skips included."""
        return dims.add(dims.multiply(self.dilations[axis], dims.subtract(self.kernel[axis], 1)), 1)

    def outputs(self, sizes: Sequence[Dim]) -> Shape:
        """Return how many windows there are on each axis; not positive where none fits."""
        return tuple(self._output(axis, size) for axis, size in enumerate(sizes))

    def _output(self, axis: int, size: Dim) -> Dim:
        stride = self.strides[axis]
        if self.auto_pad.startswith("SAME"):
            return dims.ceildiv(size, stride)
        before, after = self._explicit(axis)
        room = dims.subtract(dims.add(size, before + after), self.extent(axis))
        if not self.ceil_mode or self.auto_pad == "VALID":
            return dims.add(dims.floordiv(room, stride), 1)
        starts = dims.ceildiv(dims.add(size, before), stride)
        return least(dims.add(dims.ceildiv(room, stride), 1), starts)

    def _explicit(self, axis: int) -> tuple[int, int]:
        if self.auto_pad == "VALID":
            return 0, 0
        return self.pads[axis], self.pads[axis + len(self.kernel)]

    def padding(self, sizes: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Return the padding before and behind each axis that the windows are defined by."""
        return tuple(self._padding(axis, size) for axis, size in enumerate(sizes))

    def _padding(self, axis: int, size: int) -> tuple[int, int]:
        if not self.auto_pad.startswith("SAME"):
            return self._explicit(axis)
        spanned = self.spans((size,), axis)[0]
        total = max(0, spanned - size)
        before = total // 2 if self.auto_pad == "SAME_UPPER" else total - total // 2
        return before, total - before

    def spans(self, sizes: Sequence[int], first: int = 0) -> tuple[int, ...]:
        """Return how many elements all windows together span on each axis from ``first`` on."""
        spanned = []
        for axis, size in enumerate(sizes, first):
            count, extent = self._output(axis, size), self.extent(axis)
            assert isinstance(count, int)
            assert isinstance(extent, int)
            spanned.append((count - 1) * self.strides[axis] + extent if count > 0 else 0)
        return tuple(spanned)


def windows_of(
    kernel: Shape,
    *,
    strides: tuple[int, ...] | None,
    pads: tuple[int, ...] | None,
    dilations: tuple[int, ...] | None,
    auto_pad: str = "NOTSET",
    ceil_mode: bool = False,
) -> Windows:
    """Return the windows of these attributes, with what is left out filled in."""
    ones, zeros = (1,) * len(kernel), (0,) * (2 * len(kernel))
    return Windows(kernel, strides or ones, dilations or ones, pads or zeros, auto_pad, ceil_mode)


def check_vector(call: OpCall, name: str, length: int, least: int) -> None:
    """Check that attribute ``name`` is none or ``length`` integers not below ``least``.

    Raises:
        CompileError: It is not.
    """
    value = call.attrs[name]
    if value is None:
        return
    fits = len(value) == length and all(type(v) is int and v >= least for v in value)
    if not fits:
        raise call.error(
            "attribute-value",
            f"attribute {name} is {value!r}, expected {length} integers of at least {least}",
        )


def check_window_attrs(call: OpCall, rank: int) -> None:
    """Check the attributes `ATTRS` against the number of spatial axes.

    Raises:
        CompileError: One does not fit.
    """
    check_vector(call, "strides", rank, 1)
    check_vector(call, "dilations", rank, 1)
    check_vector(call, "pads", 2 * rank, 0)


def checked_outputs(call: OpCall, windows: Windows, sizes: Sequence[Dim]) -> Shape:
    """Return how many windows lie on each axis.

    Raises:
        CompileError: A window is certainly larger than its padded axis.
    """
    found = windows.outputs(sizes)
    for axis, count in enumerate(found):
        if isinstance(count, int) and count <= 0 and sizes[axis] != 0:
            raise call.error("shape-mismatch", _too_large(windows, axis, sizes[axis]))
    return tuple(greatest(d, 0) for d in found)


def _too_large(windows: Windows, axis: int, size: Dim) -> str:
    return (
        f"a window of {windows.extent(axis)} does not fit on spatial axis {axis}, "
        f"which has {size} and its padding"
    )


def run_outputs(windows: Windows, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return how many windows lie on each axis, in a run.

    Raises:
        DataError: A window is larger than its padded axis.
    """
    found = []
    for axis, count in enumerate(windows.outputs(sizes)):
        assert isinstance(count, int)
        if count <= 0 and sizes[axis] != 0:
            raise DataError("shape-mismatch", _too_large(windows, axis, sizes[axis]))
        found.append(max(0, count))
    return tuple(found)


def padded(xp: Namespace, x: Array, windows: Windows, value: Any) -> Array:
    """Return ``x`` with its spatial axes padded so that every window lies inside."""
    sizes = x.shape[2:]
    widths = [(0, 0), (0, 0)]
    spanned = zip(windows.padding(sizes), windows.spans(sizes), sizes, strict=True)
    for (before, _), span, size in spanned:
        widths.append((before, max(0, span - size - before)))
    if not any(map(any, widths)):
        return x
    return xp.pad(x, widths, constant_values=value)


def window_view(xp: Namespace, x: Array, windows: Windows, outputs: Sequence[int]) -> Array:
    """Return a view of padded ``x`` as ``[N, C, kernel…, outputs…]``; it must not be written."""
    lead, steps = x.strides[:2], x.strides[2:]
    inside = tuple(s * d for s, d in zip(steps, windows.dilations, strict=True))
    across = tuple(s * t for s, t in zip(steps, windows.strides, strict=True))
    shape = (*x.shape[:2], *windows.kernel, *outputs)
    return xp.lib.stride_tricks.as_strided(x, shape, (*lead, *inside, *across))


__all__ = [
    "ATTRS",
    "AUTO_PADS",
    "OPTIONAL_TUPLE",
    "Windows",
    "check_vector",
    "check_window_attrs",
    "checked_outputs",
    "padded",
    "run_outputs",
    "window_view",
    "windows_of",
]
