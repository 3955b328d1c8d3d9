"""The steps of recurrent layers: one product of the state and one loop over the gates a step.

The inputs' share of the gates of all steps is there already (`dots`); the state's product adds to
it. A unit of work is one direction of some sequences of the batch, all steps of it: sequences do
not depend on one another. States are held in the workspace, two of each, which take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.ops.definition import OpDef
from reference_vm.targets.numba import gates
from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words
from reference_vm.targets.numba.dots import Product, print_dots, tile_columns
from reference_vm.targets.numba.gates import Activation, GruForm, LstmForm, RowFunction
from reference_vm.targets.numba.shared_dots import POOL, Shared, print_shared
from reference_vm.targets.numba.vectors import Lanes
from reference_vm.types import DType

STEPS: Final = (
    *("steps", "batch", "hidden", "blocks", "backward"),
    *("inputs", "summed", "states", "aside"),
    *POOL,
)
"""The words of the block: sizes; how many blocks of sequences; whether the first direction goes
backward; where the inputs' share, the summed gates, the states and other vectors lie; the pool,
which the products of a step are shared by."""

BIAS: Final = ("bias", "rows", "both")
"""The words of the block: where summed biases go; how many a direction has; how many of them get
the bias of the state too."""

SHARE: Final = ("inputs", "bias", "rows", "depth", "columns", "chunk", "chunks", "blocks")
"""The words of the block: where the result and the biases lie; rows of the weights; features; steps
times batch; rows that are done at once, how many times; blocks of columns."""


@final
@dataclass(frozen=True, slots=True)
class Operands:
    """Which addresses the operands are at; results are the last ones."""

    x: int
    w: int
    r: int
    bias: int | None
    lengths: int | None
    states: tuple[int | None, ...]
    peepholes: int | None
    results: tuple[int, ...]

    @property
    def addresses(self) -> int:
        return self.results[-1] + 1


@final
@dataclass(frozen=True, slots=True)
class CellForm:
    """What is compiled for."""

    op: str
    dtype: DType
    lanes: Lanes
    operands: Operands
    activations: tuple[tuple[Activation, ...], ...]
    """Of each direction."""

    clip: float | None
    linear: bool = False
    """Whether gru's reset comes after the product."""

    input_forget: bool = False

    def words(self, names: Sequence[str]) -> Words:
        return Words(self.operands.addresses, tuple(names))

    @property
    def gate_count(self) -> int:
        return {"lstm": 4, "gru": 3, "rnn": 1}[self.op]

    @property
    def state_count(self) -> int:
        return 2 if self.op == "lstm" else 1


def print_bias(form: CellForm) -> str:
    """Return the kernel that sums biases; its range counts them, of all directions."""
    out, element = Assembly(), form.lanes.element
    with out.kernel():
        words = form.words(BIAS)
        target, rows = words.inside(out, "bias"), words.read(out, "rows")
        both = words.read(out, "both")

        def one(index: Value) -> None:
            value: Value = "0.0"
            if form.operands.bias is not None:
                value = _summed_bias(out, form, index, rows, both)
            out.store(element, value, out.at(target, element, index))

        out.each("%low", "%high", "1", one)
    return out.text


def _summed_bias(out: Assembly, form: CellForm, index: Value, rows: Value, both: Value) -> Value:
    element = form.lanes.element
    second = out.compare("sge", index, rows)  # of two directions; division is no vector code
    direction = out.step(f"zext i1 {second} to i64")
    row = out.sub(index, out.mul(direction, rows))
    first = out.add(out.mul(direction, out.mul(rows, "2")), row)
    b = out.word(form.operands.bias or 0, "ptr")
    of_inputs = out.load(element, out.at(b, element, first))
    of_state = out.load(element, out.at(b, element, out.add(first, rows)))
    gated = out.compare("slt", row, both)
    of_state = out.step(f"select i1 {gated}, {element} {of_state}, {element} 0.0")
    return out.step(f"fadd {element} {of_inputs}, {of_state}")


def print_share(form: CellForm) -> str:
    """Return the kernel of the inputs' share; its range counts directions, columns, rows."""
    out, lanes = Assembly(), form.lanes
    print_dots(out, lanes)
    with out.kernel():
        words = form.words(SHARE)
        read = {name: words.read(out, name) for name in SHARE}
        inputs, bias = words.inside(out, "inputs"), words.inside(out, "bias")
        w, x = out.word(form.operands.w, "ptr"), out.word(form.operands.x, "ptr")
        width = str(4 * tile_columns(lanes))

        def unit(index: Value) -> None:
            rest, chunk = out.divide(index, read["chunks"])
            direction, block = out.divide(rest, read["blocks"])
            m, p = out.mul(chunk, read["chunk"]), out.mul(block, width)
            m_end = out.least(out.add(m, read["chunk"]), read["rows"])
            p_end = out.least(out.add(p, width), read["columns"])
            row = out.mul(direction, read["rows"])
            result = out.mul(row, read["columns"])
            Product(
                *(out.at(w, lanes.element, out.mul(row, read["depth"])), read["depth"]),
                *(x, read["depth"], read["depth"]),
                *(out.at(bias, lanes.element, row), "1", "0"),
                *(out.at(inputs, lanes.element, result), "1", read["rows"]),
            ).call(out, (m, m_end), (p, p_end))

        out.each("%low", "%high", "1", unit)
    return out.text


def print_steps(form: CellForm, ops: Mapping[str, OpDef]) -> str:
    """Return the kernel of all steps; its range counts directions and blocks of sequences."""
    out = Assembly()
    print_dots(out, form.lanes)
    print_shared(out, form.lanes)
    _print_copy(out, form.lanes.element)
    rows = [_row_functions(form, used, index, ops) for index, used in enumerate(form.activations)]
    for functions in rows:
        for function in functions:
            function.print(out)
    with out.kernel():
        steps = _Steps(form, out, form.words(STEPS))

        def unit(index: Value) -> None:
            direction, block = out.divide(index, steps.read["blocks"])
            if len(rows) == 1:
                steps.unit(direction, block, rows[0])
                return
            first = out.compare("eq", direction, "0")
            out.choose(
                first,
                lambda: steps.unit(direction, block, rows[0]),
                lambda: steps.unit(direction, block, rows[1]),
            )

        out.each("%low", "%high", "1", unit)
    return out.text


def _row_functions(
    form: CellForm, used: Sequence[Activation], index: int, ops: Mapping[str, OpDef]
) -> list[RowFunction]:
    name = f"gates{index}"
    if form.op == "lstm":
        f, g, h = used
        peepholes = form.operands.peepholes is not None
        lstm = LstmForm(form.dtype, (f, g, h), form.clip, form.input_forget, peepholes)
        return [RowFunction(name, gates.lstm(ops, lstm))]
    if form.op == "gru":
        f, g = used
        gru = GruForm(form.dtype, (f, g), form.clip, form.linear)
        reset = [] if form.linear else [RowFunction(f"reset{index}", gates.gru_reset(ops, gru))]
        return [RowFunction(name, gates.gru(ops, gru)), *reset]
    return [RowFunction(name, gates.rnn(ops, form.dtype, used[0], form.clip))]


def _print_copy(out: Assembly, element: str) -> None:
    head = "define internal void @copy(ptr noalias readonly %x, ptr noalias %y, i64 %n)"
    with out.function(f"{head} noinline nounwind"):
        out.each(
            "0",
            "%n",
            "1",
            lambda i: out.store(
                element, out.load(element, out.at("%x", element, i)), out.at("%y", element, i)
            ),
        )
    head = "define internal void @clear(ptr noalias %y, i64 %n)"
    with out.function(f"{head} noinline nounwind"):
        out.each("0", "%n", "1", lambda i: out.store(element, "0.0", out.at("%y", element, i)))


@final
class _Steps:
    """Writes the steps of one unit."""

    def __init__(self, form: CellForm, out: Assembly, words: Words) -> None:
        self.form, self.out, self.element = form, out, form.lanes.element
        self.read = {name: words.read(out, name) for name in STEPS}
        inside = {n: words.inside(out, n) for n in ("inputs", "summed", "states", "aside")}
        self.inputs, self.summed = inside["inputs"], inside["summed"]
        self.states, self.aside = inside["states"], inside["aside"]
        self.hidden = self.read["hidden"]
        self.gates = out.mul(self.hidden, str(form.gate_count))
        self.width = str(tile_columns(form.lanes))
        run, state = words.pointer(out, "pool_run"), words.pointer(out, "pool_state")
        self.pool = Shared(run, state, self.read["threads"])
        self.zero = out.step(f"alloca {self.element}")
        out.store(self.element, "0.0", self.zero)

    def at(self, base: Value, index: Value) -> Value:
        return self.out.at(base, self.element, index)

    def word(self, address: int) -> Value:
        return self.out.word(address, "ptr")

    def unit(self, direction: Value, block: Value, rows: Sequence[RowFunction]) -> None:
        out, read = self.out, self.read
        self.direction, self.rows = direction, rows
        self.first = out.mul(block, self.width)
        self.last = out.least(out.add(self.first, self.width), read["batch"])
        self.base = out.mul(direction, read["batch"])
        size = out.mul(self.gates, self.hidden)
        self.weights = self.at(self.word(self.form.operands.r), out.mul(direction, size))
        self._each(self._begin)
        turned = out.step(f"xor i64 {direction}, {read['backward']}")
        self.reverse = out.compare("ne", turned, "0")
        out.each("0", read["steps"], "1", self._step)
        self._each(self._end)

    def _each(self, body: Callable[[Value], None]) -> None:
        """Write a loop over the sequences of the unit, counted through all directions."""
        out = self.out
        first, last = out.add(self.base, self.first), out.add(self.base, self.last)
        out.each(first, last, "1", body)

    def _state(self, which: int, turn: Value, sequence: Value) -> Value:
        """Return where a state of a sequence is held; two of each take turns."""
        out = self.out
        place = out.add(out.mul(sequence, str(2 * self.form.state_count)), str(2 * which))
        return self.at(self.states, out.mul(out.add(place, turn), self.hidden))

    def _begin(self, sequence: Value) -> None:
        for which, given in enumerate(self.form.operands.states):
            target = self._state(which, "0", sequence)
            if given is None:
                self.out.do(f"call void @clear(ptr {target}, i64 {self.hidden})")
            else:
                self._copy(self.at(self.word(given), self.out.mul(sequence, self.hidden)), target)

    def _end(self, sequence: Value) -> None:
        turn = self.out.step(f"and i64 {self.read['steps']}, 1")
        for which, result in enumerate(self.form.operands.results[1:]):
            target = self.at(self.word(result), self.out.mul(sequence, self.hidden))
            self._copy(self._state(which, turn, sequence), target)

    def _copy(self, source: Value, target: Value) -> None:
        self.out.do(f"call void @copy(ptr {source}, ptr {target}, i64 {self.hidden})")

    def _step(self, number: Value) -> None:
        out, read = self.out, self.read
        back = out.sub(out.sub(read["steps"], "1"), number)
        self.time = out.step(f"select i1 {self.reverse}, i64 {back}, i64 {number}")
        self.turn = out.step(f"and i64 {number}, 1")
        self.next = out.step(f"xor i64 {self.turn}, 1")
        step = out.add(out.mul(self.direction, read["steps"]), self.time)
        column = out.mul(step, read["batch"])
        self.share = self.at(self.inputs, out.mul(column, self.gates))
        self.sums = self.at(self.summed, out.mul(self.base, self.gates))
        self._products()
        if self.form.op == "gru" and not self.form.linear:
            self._each(self._reset)
            self._product(2, 3, self.aside, self.hidden, "0")
        self._each(self._gate)

    def _products(self) -> None:
        """Add the state's product to the inputs' share."""
        place = self._state(0, self.turn, self.base)
        distance = self.out.mul(self.hidden, str(2 * self.form.state_count))
        if self.form.op != "gru":
            self._product(0, self.form.gate_count, place, distance)
            return
        self._product(0, 2, place, distance)
        if self.form.linear:
            self._product(2, 3, place, distance, plain=True)

    def _product(
        self,
        gate: int,
        end: int,
        states: Value,
        distance: Value,
        start: Value | None = None,
        *,
        plain: bool = False,
    ) -> None:
        """Sum some gates; ``plain`` ones begin with the bias of the state alone."""
        out, m = self.out, out_mul(self.out, self.hidden)
        if start is not None:
            states = self.at(states, out.mul(self.base, self.hidden))
        first, row, column = self.share, "1", self.gates
        if plain:
            first, row, column = self._state_bias()
        product = Product(
            *(self.weights, self.hidden, states, distance, self.hidden),
            *(first, row, column, self.sums, "1", self.gates),
        )
        self.pool.call(out, product, (m(gate), m(end)), (self.first, self.last))

    def _state_bias(self) -> tuple[Value, Value, Value]:
        out, given = self.out, self.form.operands.bias
        if given is None:
            return self.zero, "0", "0"
        both = out.mul(out.mul(self.direction, self.gates), "2")
        return self.at(self.word(given), out.add(both, self.gates)), "1", "0"

    def _reset(self, sequence: Value) -> None:
        sums = self.at(self.summed, self.out.mul(sequence, self.gates))
        before = self._state(0, self.turn, sequence)
        target = self.at(self.aside, self.out.mul(sequence, self.hidden))
        reset = self.at(sums, self.hidden)
        self.rows[1].call(self.out, [reset, before], [target], self.hidden)

    def _gate(self, sequence: Value) -> None:
        out, operands = self.out, self.form.operands
        place = out.sub(sequence, self.base)
        every = self._every(place)
        if operands.lengths is None:
            self._new(sequence, every)
            return
        length = out.load("i32", out.at(self.word(operands.lengths), "i32", place))
        going = out.compare("slt", self.time, out.step(f"sext i32 {length} to i64"))
        out.choose(going, lambda: self._new(sequence, every), lambda: self._old(sequence, every))

    def _every(self, place: Value) -> Value:
        """Return where the hidden state of this step goes."""
        out, read = self.out, self.read
        count = str(len(self.form.activations))
        step = out.add(out.mul(self.time, count), self.direction)
        row = out.add(out.mul(step, read["batch"]), place)
        return self.at(self.word(self.form.operands.results[0]), out.mul(row, self.hidden))

    def _new(self, sequence: Value, every: Value) -> None:
        out, m = self.out, out_mul(self.out, self.hidden)
        sums = self.at(self.summed, out.mul(sequence, self.gates))
        parts = [self.at(sums, m(gate)) for gate in range(self.form.gate_count)]
        before = [self._state(which, self.turn, sequence) for which in range(self.form.state_count)]
        after = [self._state(which, self.next, sequence) for which in range(self.form.state_count)]
        self.rows[0].call(out, self._read(parts, before, sequence), after, self.hidden)
        self._copy(after[0], every)

    def _read(
        self, parts: Sequence[Value], before: Sequence[Value], sequence: Value
    ) -> Sequence[Value]:
        """Return what the row function of the new state reads, in its order."""
        out, form = self.out, self.form
        if form.op == "rnn":
            return parts
        if form.op == "lstm":
            return [*parts, before[1], *self._peepholes()]
        if not form.linear:
            return [parts[0], parts[2], before[0]]
        place = out.mul(out.sub(sequence, self.base), self.gates)
        hidden = self.at(self.at(self.share, place), out.mul(self.hidden, "2"))
        return [parts[0], hidden, before[0], parts[1], parts[2]]

    def _peepholes(self) -> list[Value]:
        given = self.form.operands.peepholes
        if given is None:
            return []
        m = out_mul(self.out, self.hidden)
        base = self.at(self.word(given), self.out.mul(self.direction, m(3)))
        return [self.at(base, m(i)) for i in range(3)]

    def _old(self, sequence: Value, every: Value) -> None:
        """Leave the states as they are; the hidden state of this step is 0."""
        self.out.do(f"call void @clear(ptr {every}, i64 {self.hidden})")
        for which in range(self.form.state_count):
            before = self._state(which, self.turn, sequence)
            self._copy(before, self._state(which, self.next, sequence))


def out_mul(out: Assembly, value: Value) -> Callable[[int], Value]:
    """Return the function that multiplies ``value`` by a number."""
    return lambda factor: out.mul(value, str(factor))


__all__ = ["BIAS", "SHARE", "STEPS", "CellForm", "Operands"]
__all__ += ["print_bias", "print_share", "print_steps"]
