"""Makes kernels of lstm, gru and rnn: the inputs' share of all gates at once, then step by step.

Left to the library: f16 and bf16, and the layout with the batch first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

from reference_vm.bytecode.kernel import Dims, Kernel, NativeCall, Stage
from reference_vm.ir.nodes import Call, Function, Var
from reference_vm.ops.gate_functions import parameters
from reference_vm.ops.recurrent_types import FORMS, directions
from reference_vm.targets.numba.dots import block_columns, tile_columns
from reference_vm.targets.numba.gates import Activation
from reference_vm.targets.numba.making import Tools, staged_kernel
from reference_vm.targets.numba.printed import compiled
from reference_vm.targets.numba.recurrence import (
    BIAS,
    SHARE,
    STEPS,
    CellForm,
    Operands,
    print_bias,
    print_share,
    print_steps,
)
from reference_vm.targets.numba.vectors import lanes, registers
from reference_vm.types import TensorType, TupleType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import F32, F64

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

_LENGTHS, _STATES, _PEEPHOLES = 4, 5, 7
"""Where operands stand."""

_CHUNKS: Final = 8

_LINE: Final = 64


def make(function: Function, tools: Tools) -> Kernel | None:
    """Return the kernel of a recurrent layer; see `making.Maker`."""
    bindings = tuple(function.body.bindings())
    call, results = bindings[0].value, bindings[0].var.type
    if len(bindings) != 1 or not isinstance(call, Call) or call.op not in FORMS:
        return None
    first = results.items[0] if isinstance(results, TupleType) else None
    if not isinstance(first, TensorType) or first.dtype not in (F32, F64) or call.attrs["layout"]:
        return None
    places = [function.params.index(a) if isinstance(a, Var) else None for a in call.args]
    plan = _Planner(call, tuple(places), _form(call, places, first, tools), tools)
    count = len(plan.form.operands.results)
    return staged_kernel(function, tools, plan.plan, (to_numpy(first.dtype),) * count)


def _form(call: Call, places: Sequence[int | None], type_: TensorType, tools: Tools) -> CellForm:
    inputs = _inputs(places)

    def address(operand: int) -> int | None:
        place = places[operand] if operand < len(places) else None
        return None if place is None else inputs.index(place)

    count = FORMS[call.op].states
    x, w, r = (address(i) for i in range(3))
    assert x is not None
    assert w is not None
    assert r is not None
    operands = Operands(
        x,
        w,
        r,
        address(3),
        address(_LENGTHS),
        tuple(address(_STATES + i) for i in range(count)),
        address(_PEEPHOLES) if call.op == "lstm" else None,
        tuple(len(inputs) + i for i in range(1 + count)),
    )
    return CellForm(
        call.op,
        type_.dtype,
        lanes(type_.dtype, registers(tools.machine.features)),
        operands,
        tuple(_activations(call)),
        _number(call.attrs["clip"]),
        bool(call.attrs.get("linear_before_reset", False)),
        bool(call.attrs.get("input_forget", False)),
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _inputs(places: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(p for p in places if p is not None))


def _activations(call: Call) -> list[tuple[Activation, ...]]:
    """Return the activations of each direction."""
    attrs: Any = call.attrs
    each = FORMS[call.op].activations
    names = attrs["activations"] or each * directions(attrs["direction"])
    found = parameters(names, attrs["activation_alpha"] or (), attrs["activation_beta"] or ())
    return [tuple(found[i : i + len(each)]) for i in range(0, len(found), len(each))]


@final
@dataclass
class _Planner:
    """Turns dims into stages."""

    call: Call
    places: Sequence[int | None]
    form: CellForm
    tools: Tools

    def plan(self, inputs: Sequence[Dims | Any]) -> NativeCall | None:
        """Return the stages; see `staged.Planner`."""
        x, _, r = (inputs[self.places[i] or 0] for i in range(3))
        steps, batch, features = x
        hidden = r[2]
        count = directions(str(self.call.attrs["direction"]))
        last = (count, batch, hidden)
        shapes = ((steps, count, batch, hidden), *[last] * FORMS[self.call.op].states)
        given = _inputs(self.places)
        if not batch or not hidden:
            return NativeCall(given, shapes, ())
        stages = _Stages(self, steps, batch, features, hidden, count)
        stages.plan()
        owner: Machine = self.tools.machine
        return NativeCall(given, shapes, tuple(stages.stages), stages.used, owner)


@final
@dataclass
class _Stages:
    """The stages of one layer of known dims."""

    planner: _Planner
    steps: int
    batch: int
    features: int
    hidden: int
    directions: int
    stages: list[Stage] = field(default_factory=list)
    used: int = 0
    """Bytes of the workspace given out."""

    @property
    def form(self) -> CellForm:
        return self.planner.form

    @property
    def rows(self) -> int:
        """Of the gates."""
        return self.form.gate_count * self.hidden

    def plan(self) -> None:
        """Add the stages: biases, the inputs' share, the steps."""
        sequences = self.directions * self.batch
        bias = self._room(self.directions * self.rows)
        inputs = self._room(self.steps * sequences * self.rows)
        self._bias(bias)
        self._share(bias, inputs)
        self._steps(inputs, sequences)

    def _bias(self, bias: int) -> None:
        form = self.form
        apart = form.op == "gru" and form.linear
        both = 2 * self.hidden if apart else self.rows
        block = form.words(BIAS).block(bias=bias, rows=self.rows, both=both)
        entry = self._compile("bias", lambda: print_bias(form))
        count = self.directions * self.rows
        self._add(entry, block, count, count, form.words(BIAS).workspace)

    def _share(self, bias: int, inputs: int) -> None:
        form, columns = self.form, self.steps * self.batch
        blocks = -(-columns // block_columns(form.lanes))
        parts = max(1, -(-_CHUNKS // max(1, self.directions * blocks)))
        least = -(-self.rows // parts)
        chunk = -(-least // form.lanes.count) * form.lanes.count
        chunks = -(-self.rows // chunk)
        words = form.words(SHARE)
        block = words.block(
            inputs=inputs,
            bias=bias,
            rows=self.rows,
            depth=self.features,
            columns=columns,
            chunk=chunk,
            chunks=chunks,
            blocks=blocks,
        )
        work = self.directions * columns * self.rows * max(1, self.features)
        entry = self._compile("share", lambda: print_share(form))
        self._add(entry, block, self.directions * blocks * chunks, work, words.workspace)

    def _steps(self, inputs: int, sequences: int) -> None:
        form = self.form
        blocks = -(-self.batch // tile_columns(form.lanes))
        words, pool = form.words(STEPS), self.planner.tools.pool
        block = words.block(
            steps=self.steps,
            batch=self.batch,
            hidden=self.hidden,
            blocks=blocks,
            backward=int(self.planner.call.attrs["direction"] == "reverse"),
            inputs=inputs,
            summed=self._room(sequences * self.rows),
            states=self._room(2 * form.state_count * sequences * self.hidden),
            aside=self._room(sequences * self.hidden),
            pool_run=pool.run_address,
            pool_state=pool.state,
            threads=pool.threads,
        )
        ops = self.planner.tools.ops
        work = self.steps * sequences * self.rows * self.hidden
        entry = self._compile("steps", lambda: print_steps(form, ops))
        self._add(entry, block, self.directions * blocks, work, words.workspace)

    def _add(self, entry: int, block: Any, high: int, work: int, workspace: int) -> None:
        self.stages.append(Stage(entry, block, 0, high, work, workspace_word=workspace))

    def _compile(self, kind: str, text: Any) -> int:
        return compiled(self.planner.tools.machine, kind, self.form, text)

    def _room(self, elements: int) -> int:
        """Return where room for so many elements begins in the workspace."""
        begin = self.used
        self.used += -(-elements * self.form.lanes.bytes // _LINE) * _LINE
        return begin


__all__ = ["make"]
