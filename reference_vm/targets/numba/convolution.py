"""Makes kernels of convolutions: planes, packed weights, sums over a table of offsets.

Three stages over one workspace: the operand is copied into planes (`planes`), unless it can be read
as it lies; the weights are packed; tiles are summed (`taps`). Results narrower than the sums are
rounded by a fourth. What else there is, kernels over more than three axes, is left to the library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from reference_vm.bytecode.kernel import Dims, Kernel, NativeCall, Stage
from reference_vm.ir.nodes import Call, Function, Var
from reference_vm.ops.windows import windows_of
from reference_vm.targets.numba.conv_form import convolution_of
from reference_vm.targets.numba.conv_geometry import Geometry, geometry
from reference_vm.targets.numba.dots import block_columns
from reference_vm.targets.numba.making import Tools, staged_kernel
from reference_vm.targets.numba.planes import (
    PackForm,
    PlanesForm,
    Source,
    phase_ranges,
    phase_starts,
    print_pack,
    print_planes,
)
from reference_vm.targets.numba.printed import compiled
from reference_vm.targets.numba.rounding import RoundForm, print_round
from reference_vm.targets.numba.rows import GatherForm, RowsForm, print_gather, print_rows
from reference_vm.targets.numba.taps import Tile, print_taps
from reference_vm.targets.numba.vectors import Bend, Lanes, Registers, lanes, registers
from reference_vm.types import DType, TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BF16, F16, F32, F64

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

_ALIGNMENT: Final = 64

_LONG: Final = 32
"""Taps from which on products of rows may pay: at the end of each the lanes are folded."""

_OVERLAP: Final = 4
"""Frames a quarter of a vector apart, or farther, are done as rows."""

_SHALLOW: Final = 16
"""Taps up to which writing the result takes longer than summing it."""

_NEAR: Final = 1 << 20
"""Bytes of planes that the caches of one processor hold."""

_CHUNKS: Final = 8
"""Parts that work is cut into, at least, if it is large."""


def make(function: Function, tools: Tools) -> Kernel | None:
    """Return the kernel of a convolution; see `making.Maker`."""
    found = convolution_of(function)
    if found is None:
        return None
    call, bend = found
    types = [a.type if isinstance(a, Var) else None for a in call.args]
    x = types[0]
    if not isinstance(x, TensorType) or x.rank is None or not 3 <= x.rank <= 5:
        return None
    if x.dtype == F16 and not tools.machine.converts_f16:
        return None
    places = [function.params.index(a) if isinstance(a, Var) else None for a in call.args]
    result = function.body.result.tensor.dtype
    plan = _Planner(call, tuple(places), tuple(types), result, tools.machine, bend)
    return staged_kernel(function, tools, plan.plan, (to_numpy(result),))


@final
@dataclass
class _Planner:
    """Turns dims into stages."""

    call: Call
    places: Sequence[int | None]
    """Which of the kernel's inputs each operand is."""

    types: Sequence[Any]
    result: DType
    machine: Machine
    bend: Bend | None
    """What becomes of numbers below 0 in the result."""

    def __post_init__(self) -> None:
        given = [p for p in self.places if p is not None]
        self.inputs = tuple(dict.fromkeys(given))
        self.addresses = len(self.inputs) + 1
        narrow = self.result in (F16, BF16)
        self.lanes = lanes(F32 if narrow else self.result, self.registers)
        self.aside = narrow

    @property
    def registers(self) -> Registers:
        return registers(self.machine.features)

    def plan(self, inputs: Sequence[Dims | Any]) -> NativeCall | None:
        """Return the stages; see `staged.Planner`."""
        attrs = dict(self.call.attrs)
        groups = int(attrs.pop("group"))
        x, w = self._dims(inputs, 0), self._dims(inputs, 1)
        windows = windows_of(tuple(w[2:]), **attrs)
        found = geometry(x, w, windows, groups)
        outputs = found.outputs if len(x) != len(w) else _outputs(windows, x)
        return _Stages(self, found).call((x[0], w[0], *outputs))

    def _dims(self, inputs: Sequence[Dims | Any], operand: int) -> Dims:
        place = self.places[operand]
        assert place is not None
        dims: Dims = inputs[place]
        return dims

    def address(self, operand: int) -> int | None:
        """Return which address an operand is at, if it is given."""
        place = self.places[operand] if operand < len(self.places) else None
        return None if place is None else self.inputs.index(place)

    def source(self, operand: int) -> Source:
        """Return operand 0 or 1 with its zero point."""
        at = self.address(operand)
        assert at is not None
        zero, each = None, False
        if self.call.op == "conv_integer":
            zero = self.address(operand + 2)
            type_ = self.types[operand + 2] if zero is not None else None
            each = operand == 1 and type_ is not None and type_.shape not in ((), (1,))
        return Source(at, self.types[operand].dtype, zero, each)


def _outputs(windows: Any, x: Dims) -> tuple[int, ...]:
    return tuple(max(0, int(n)) for n in windows.outputs(x[2:]))


@final
@dataclass
class _Stages:
    """The stages of one convolution of known dims."""

    planner: _Planner
    g: Geometry
    stages: list[Stage] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    """Tables that blocks point to."""

    used: int = 0
    """Bytes of the workspace given out."""

    @property
    def lanes(self) -> Lanes:
        return self.planner.lanes

    def call(self, shape: Dims) -> NativeCall:
        if math.prod(shape):
            self._plan(shape)
        kept = (self.planner.machine, *self.kept)
        inputs, workspace = self.planner.inputs, self.used
        return NativeCall(inputs, (shape,), tuple(self.stages), workspace, kept)

    def _plan(self, shape: Dims) -> None:
        if self._is_by_rows():
            self._by_rows()
        else:
            self._by_taps(shape)

    def _is_by_rows(self) -> bool:
        """Whether products of rows do better: no vector of places is full, or windows are rows."""
        g = self.g
        plain = self.planner.call.op == "conv" and self.planner.result in (F32, F64)
        if not plain or g.depth < _LONG:
            return False
        few = g.spanned < self.lanes.count
        return few or (g.are_rows and g.strides[2] * _OVERLAP >= self.lanes.count)

    def _by_rows(self) -> None:
        g, planner = self.g, self.planner
        places = math.prod(g.outputs)
        direct = g.are_rows and g.are_inside
        windows, image = 0, math.prod(g.sizes)
        if g.are_rows and not direct:
            windows, image = self._planes(g.unsplit, 0), g.unsplit.plane[2]
        elif not direct:
            windows, image = self._windows(places), g.groups * places * g.depth
        at = [planner.address(i) for i in range(3)]
        assert at[0] is not None
        assert at[1] is not None
        form = RowsForm(
            self.lanes, direct, at[0], at[1], at[2], planner.addresses - 1, planner.bend
        )
        blocks = -(-places // block_columns(self.lanes))
        units = g.images * g.groups * blocks
        chunk = -(-g.features // max(1, -(-_CHUNKS // units)))
        chunk = -(-chunk // self.lanes.count) * self.lanes.count
        words = form.words()
        block = words.block(
            windows=windows,
            image=image,
            group=0 if g.are_rows else places * g.depth,
            distance=g.strides[2] if g.are_rows else g.depth,
            depth=g.depth,
            features=g.features,
            places=places,
            groups=g.groups,
            chunk=chunk,
            chunks=-(-g.features // chunk),
            blocks=blocks,
        )
        entry = self._compile("rows", form, print_rows)
        high = units * -(-g.features // chunk)
        self.stages.append(
            Stage(entry, block, 0, high, g.multiplications, workspace_word=words.workspace)
        )

    def _windows(self, places: int) -> int:
        """Add the stages that gather windows; return where they begin."""
        g = self.g
        planes = self._planes(g, 0)
        count = g.images * g.groups * places
        begin = self._room(count * g.depth)
        form = GatherForm(self.lanes, self.planner.addresses)
        words = form.words()
        block = words.block(
            planes=planes,
            windows=begin,
            offsets=self._table(g.offsets()),
            starts=self._table(g.starts()),
            depth=g.depth,
            places=places,
            group=math.prod(g.plane) * g.planes * g.channels,
        )
        entry = self._compile("gather", form, print_gather)
        self.stages.append(
            Stage(entry, block, 0, count, count * g.depth, workspace_word=words.workspace)
        )
        return begin

    def _by_taps(self, shape: Dims) -> None:
        g, tile = self.g, self._tile()
        planes = 0 if tile.direct else self._planes(g, tile.places)
        packed, bias = self._packed(tile.rows)
        result = self._room(math.prod(shape)) if tile.aside else 0
        tiles = -(-g.spanned // tile.places)
        units = g.images * g.groups * tiles
        chunk = tile.rows if tile.along else -(-g.features // max(1, -(-_CHUNKS // units)))
        chunk = -(-chunk // tile.rows) * tile.rows
        chunks = -(-g.features // chunk)
        each = _bytes(g, self.lanes)
        words = tile.words()
        offsets = self._table(g.offsets() * self.lanes.bytes)
        block = words.block(
            planes=planes,
            result=result,
            image=each * g.groups,
            group=each,
            readable=math.prod(g.plane) if tile.direct else 0,
            packed=packed,
            packed_group=g.features * g.depth,
            bias=bias,
            offsets=offsets,
            depth=g.depth,
            features=g.features,
            chunk=chunk,
            chunks=chunks,
            tiles=tiles,
            groups=g.groups,
            wide=g.plane[2],
            high=g.plane[1],
            out_w=g.outputs[2],
            out_h=g.outputs[1],
            out_d=g.outputs[0],
        )
        entry = self._compile("taps", tile, print_taps)
        work = g.multiplications
        self.stages.append(
            Stage(entry, block, 0, units * chunks, work, workspace_word=words.workspace)
        )
        if tile.aside:
            self._round(math.prod(shape), result)

    def _tile(self) -> Tile:
        g, found = self.g, self.planner.registers
        rows, vectors = tile_size(g, self.lanes, found)
        at = self.planner.address(0)
        assert at is not None
        wide = self.planner.source(0).dtype in (F32, F64)
        direct = g.in_place and wide and found.masked
        shallow = g.depth <= _SHALLOW
        return Tile(
            self.lanes,
            rows,
            vectors,
            direct,
            at,
            self.planner.addresses - 1,
            self.planner.aside,
            self.planner.bend,
            shallow,
            not shallow and _bytes(g, self.lanes) > _NEAR,
        )

    def _planes(self, g: Geometry, slack: int) -> int:
        """Add the stage that fills planes; return where they begin."""
        planner = self.planner
        deep, high, wide = g.plane
        rows = g.images * g.groups * g.channels * g.planes * deep * high
        more = -(-slack // wide)
        begin = self._room((rows + more) * wide)
        form = PlanesForm(planner.source(0), self.lanes, planner.addresses)
        words = form.words()
        d, h, w = range(3)
        block = words.block(
            planes=begin,
            rows=rows,
            wide=wide,
            high=high,
            deep=deep,
            phases_w=len(g.phases[w]),
            phases_h=len(g.phases[h]),
            phases_d=len(g.phases[d]),
            size_h=g.sizes[h],
            size_d=g.sizes[d],
            distance_w=math.prod(g.sizes),
            distance_h=g.sizes[w],
            distance_d=g.sizes[w] * g.sizes[h],
            stride_w=g.strides[w],
            stride_h=g.strides[h],
            stride_d=g.strides[d],
            starts_w=self._table(
                phase_ranges(g.phases[w], g.pads[w], g.strides[w], g.sizes[w], wide)
            ),
            starts_h=self._table(phase_starts(g.phases[h], g.pads[h])),
            starts_d=self._table(phase_starts(g.phases[d], g.pads[d])),
        )
        entry = self._compile("planes", form, print_planes)
        work = (rows + more) * wide
        self.stages.append(
            Stage(entry, block, 0, rows + more, work, workspace_word=words.workspace)
        )
        return begin

    def _packed(self, height: int) -> tuple[int, int]:
        """Add the stage that packs weights and biases; return where they begin."""
        g, planner = self.g, self.planner
        rows = g.groups * g.features
        packed, bias = self._room(rows * g.depth), self._room(rows)
        given = planner.address(2) if planner.call.op == "conv" else None
        form = PackForm(planner.source(1), given, self.lanes, planner.addresses)
        words = form.words()
        places = self._table(packed_places(g.groups, g.features, g.depth, height))
        block = words.block(packed=packed, bias=bias, depth=g.depth, places=places)
        entry = self._compile("pack", form, print_pack)
        self.stages.append(
            Stage(entry, block, 0, rows, rows * g.depth, workspace_word=words.workspace)
        )
        return packed, bias

    def _round(self, elements: int, begin: int) -> None:
        """Add the stage that rounds the result."""
        form = RoundForm(self.planner.result, self.planner.addresses)
        words = form.words()
        entry = self._compile("round", form, print_round)
        block = words.block(wide=begin)
        self.stages.append(
            Stage(entry, block, 0, elements, elements, workspace_word=words.workspace)
        )

    def _compile(self, kind: str, form: Any, text: Any) -> int:
        return compiled(self.planner.machine, kind, form, lambda: text(form))

    def _room(self, elements: int) -> int:
        """Return where room for so many elements begins in the workspace."""
        begin = self.used
        self.used += -(-elements * self.lanes.bytes // _ALIGNMENT) * _ALIGNMENT
        return begin

    def _table(self, values: Any) -> int:
        """Return the address of a table of integers."""
        table = np.ascontiguousarray(values, np.int64)
        self.kept.append(table)
        address: int = table.ctypes.data
        return address


def _bytes(g: Geometry, kind: Lanes) -> int:
    """Return the bytes of the planes of a group."""
    return math.prod(g.plane) * g.planes * g.channels * kind.bytes


def tile_size(g: Geometry, kind: Lanes, found: Registers) -> tuple[int, int]:
    """Return channels and vectors of a tile: what fills the registers and fits the result."""
    room = found.count * 3 // 4
    rows = 8 if found.count >= 32 else 4
    while rows > 1 and rows > g.features:
        rows //= 2
    most = min(room // rows, 8)
    needed = -(-g.spanned // kind.count)
    tiles = -(-needed // most)
    return rows, max(1, -(-needed // max(tiles, 1)) if tiles < 4 else most)


def packed_places(groups: int, features: int, depth: int, height: int) -> Any:
    """Return for each row of weights where it begins, and the distance between its elements.

    Rows of one tile are interleaved; what is left of a group is in ever lower tiles.
    """
    begin = np.arange(features, dtype=np.int64)
    step = np.full(features, height, np.int64)
    done = features // height * height
    begin[:done] = begin[:done] // height * (height * depth) + begin[:done] % height
    while done < features:
        height = 1 << ((features - done).bit_length() - 1)
        step[done : done + height] = height
        begin[done : done + height] = done * depth + np.arange(height)
        done += height
    every = begin + np.arange(groups, dtype=np.int64)[:, None] * (features * depth)
    steps = np.broadcast_to(step, every.shape)
    return np.stack([every, steps], axis=-1).reshape(-1, 2)


__all__ = ["make", "packed_places", "tile_size"]
