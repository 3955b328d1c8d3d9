"""Convolutions as products of rows with rows: few places, or long strides over one channel.

Result channel m at place p is the weights' row m times the window at p, both read along the taps.
With one channel and one kernel axis the windows are rows of the operand itself, a stride apart.
Otherwise they are gathered into columns first, by the places and the offsets of `conv_geometry`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words
from reference_vm.targets.numba.dots import Product, block_columns, print_dots
from reference_vm.targets.numba.vectors import Bend, Lanes

ROWS: Final = (
    *("windows", "image", "group", "distance", "depth", "features", "places", "groups"),
    *("chunk", "chunks", "blocks"),
)
"""The words of the block: where windows lie in the workspace; distances in elements between images,
groups and windows; taps; channels of a group; places; groups; channels that are done at once, how
many times; blocks of places."""

GATHER: Final = ("planes", "windows", "offsets", "starts", "depth", "places", "group")
"""The words of the block: where both lie; the tables of offsets of taps and of places, in elements;
their lengths; the distance between groups of planes."""


@final
@dataclass(frozen=True, slots=True)
class RowsForm:
    """What is compiled for."""

    lanes: Lanes
    direct: bool
    """Whether windows are rows of the operand."""

    x: int
    w: int
    bias: int | None
    y: int
    bend: Bend | None = None

    def words(self) -> Words:
        return Words(self.y + 1, ROWS)


@final
@dataclass(frozen=True, slots=True)
class GatherForm:
    """What is compiled for."""

    lanes: Lanes
    addresses: int

    def words(self) -> Words:
        return Words(self.addresses, GATHER)


def print_rows(form: RowsForm) -> str:
    """Return the kernel; its range counts images, groups, blocks of places, chunks of channels."""
    out, lanes = Assembly(), form.lanes
    print_dots(out, lanes, form.bend)
    with out.kernel():
        words = form.words()
        read = {name: words.read(out, name) for name in ROWS}
        windows = out.word(form.x, "ptr") if form.direct else words.inside(out, "windows")
        zero = out.step(f"alloca {lanes.element}")
        out.store(lanes.element, "0.0", zero)

        def unit(index: Value) -> None:
            rest, chunk = out.divide(index, read["chunks"])
            rest, block = out.divide(rest, read["blocks"])
            image, group = out.divide(rest, read["groups"])
            m, p = out.mul(chunk, read["chunk"]), out.mul(block, str(block_columns(lanes)))
            m_end = out.least(out.add(m, read["chunk"]), read["features"])
            p_end = out.least(out.add(p, str(block_columns(lanes))), read["places"])
            channel = out.mul(group, read["features"])
            before = out.add(out.mul(out.mul(image, read["groups"]), read["features"]), channel)
            offset = out.add(out.mul(image, read["image"]), out.mul(group, read["group"]))
            weights = out.at(
                out.word(form.w, "ptr"), lanes.element, out.mul(channel, read["depth"])
            )
            first = zero
            if form.bias is not None:
                first = out.at(out.word(form.bias, "ptr"), lanes.element, channel)
            result = out.at(out.word(form.y, "ptr"), lanes.element, out.mul(before, read["places"]))
            Product(
                *(weights, read["depth"], out.at(windows, lanes.element, offset), read["distance"]),
                *(read["depth"], first, "0" if form.bias is None else "1", "0"),
                *(result, read["places"], "1"),
            ).call(out, (m, m_end), (p, p_end))

        out.each("%low", "%high", "1", unit)
    return out.text


def print_gather(form: GatherForm) -> str:
    """Return the kernel that gathers windows; its range counts them, of all images and groups."""
    out, element = Assembly(), form.lanes.element
    head = "define internal void @window(ptr noalias readonly %x, ptr noalias readonly %offsets"
    with out.function(f"{head}, ptr noalias %y, i64 %n) noinline nounwind"):

        def one(tap: Value) -> None:
            offset = out.load("i64", out.at("%offsets", "i64", tap))
            out.store(
                element,
                out.load(element, out.at("%x", element, offset)),
                out.at("%y", element, tap),
            )

        out.each("0", "%n", "1", one)
    with out.kernel():
        words = form.words()
        depth, places = words.read(out, "depth"), words.read(out, "places")
        distance = words.read(out, "group")
        planes, windows = words.inside(out, "planes"), words.inside(out, "windows")
        offsets, starts = words.pointer(out, "offsets"), words.pointer(out, "starts")

        def window(index: Value) -> None:
            group, place = out.divide(index, places)
            start = out.load("i64", out.at(starts, "i64", place))
            source = out.at(planes, element, out.add(out.mul(group, distance), start))
            target = out.at(windows, element, out.mul(index, depth))
            out.do(f"call void @window(ptr {source}, ptr {offsets}, ptr {target}, i64 {depth})")

        out.each("%low", "%high", "1", window)
    return out.text


__all__ = ["GatherForm", "RowsForm", "print_gather", "print_rows"]
