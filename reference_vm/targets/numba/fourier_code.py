"""Short Fourier transforms as products of frames with the rows of the transform's matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words
from reference_vm.targets.numba.dots import Product, block_columns, print_dots
from reference_vm.targets.numba.vectors import Lanes

FRAMES: Final = ("windowed", "signal", "frames", "step", "length")
"""The words of the block: where windowed frames go; elements of a signal; frames of each; the
distance between frames; their length."""

TRANSFORM: Final = (
    *("matrix", "matrix_row", "rows", "windowed", "signal", "distance", "depth"),
    *("frames", "blocks", "chunk", "chunks"),
)
"""The words of the block: the address of the matrix, the distance between its rows, their number;
where windowed frames lie; distances between signals and between frames; the elements of a frame
that count; frames of a signal, in how many blocks; rows that are done at once, how many times."""


@final
@dataclass(frozen=True, slots=True)
class FourierForm:
    """What is compiled for."""

    lanes: Lanes
    signal: int
    window: int | None
    y: int

    def words(self, names: tuple[str, ...]) -> Words:
        return Words(self.y + 1, names)


def print_frames(form: FourierForm) -> str:
    """Return the kernel that multiplies frames by the window; its range counts frames of all."""
    out, lanes = Assembly(), form.lanes
    element = lanes.element
    head = "define internal void @frame(ptr noalias readonly %x, ptr noalias readonly %window"
    with out.function(f"{head}, ptr noalias %y, i64 %n) noinline nounwind"):

        def one(index: Value) -> None:
            x, window = (out.load(element, out.at(p, element, index)) for p in ("%x", "%window"))
            product = out.step(f"fmul {element} {x}, {window}")
            out.store(element, product, out.at("%y", element, index))

        out.each("0", "%n", "1", one)
    with out.kernel():
        words = form.words(FRAMES)
        read = {name: words.read(out, name) for name in FRAMES}
        x, window = out.word(form.signal, "ptr"), out.word(form.window or 0, "ptr")
        windowed = words.inside(out, "windowed")

        def frame(index: Value) -> None:
            signal, number = out.divide(index, read["frames"])
            start = out.add(out.mul(signal, read["signal"]), out.mul(number, read["step"]))
            source = out.at(x, element, start)
            target = out.at(windowed, element, out.mul(index, read["length"]))
            arguments = f"ptr {source}, ptr {window}, ptr {target}, i64 {read['length']}"
            out.do(f"call void @frame({arguments})")

        out.each("%low", "%high", "1", frame)
    return out.text


def print_transform(form: FourierForm) -> str:
    """Return the kernel of the product; its range counts signals, blocks of frames, of rows."""
    out, lanes = Assembly(), form.lanes
    print_dots(out, lanes)
    with out.kernel():
        words = form.words(TRANSFORM)
        read = {name: words.read(out, name) for name in TRANSFORM}
        matrix = words.pointer(out, "matrix")
        signals = out.word(form.signal, "ptr")
        if form.window is not None:
            signals = words.inside(out, "windowed")
        zero = out.step(f"alloca {lanes.element}")
        out.store(lanes.element, "0.0", zero)
        width = str(block_columns(lanes))

        def unit(index: Value) -> None:
            rest, chunk = out.divide(index, read["chunks"])
            signal, block = out.divide(rest, read["blocks"])
            m, p = out.mul(chunk, read["chunk"]), out.mul(block, width)
            m_end = out.least(out.add(m, read["chunk"]), read["rows"])
            p_end = out.least(out.add(p, width), read["frames"])
            frames = out.at(signals, lanes.element, out.mul(signal, read["signal"]))
            before = out.mul(out.mul(signal, read["frames"]), read["rows"])
            result = out.at(out.word(form.y, "ptr"), lanes.element, before)
            Product(
                *(matrix, read["matrix_row"], frames, read["distance"], read["depth"]),
                *(zero, "0", "0", result, "1", read["rows"]),
            ).call(out, (m, m_end), (p, p_end))

        out.each("%low", "%high", "1", unit)
    return out.text


__all__ = ["FRAMES", "TRANSFORM", "FourierForm", "print_frames", "print_transform"]
