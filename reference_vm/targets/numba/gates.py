"""The gates of recurrent cells, as loops over one row: written in the IR, printed by `loops`.

A *row function* reads vectors and writes vectors of the same length. It is built from the
operators' own loop rules, so that a gate's sigmoid is the `sigmoid` of every other kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

import numpy as np

from reference_vm.ir.nodes import Binding, Block, Call, Constant, Function, MakeTuple, Var
from reference_vm.loops.kernel import LoopRule
from reference_vm.loops.llvm import print_llvm
from reference_vm.loops.lower import lower
from reference_vm.loops.nest import Nest
from reference_vm.ops.definition import OpDef
from reference_vm.ops.typing import infer_call
from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.types import Attrs, AttrValue, DType, TensorType, TupleType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dim import symbol

Activation: TypeAlias = "tuple[str, tuple[float, ...]]"
"""A name in lower case, and its parameters."""


@final
@dataclass
class Gates:
    """Writes elementwise calls on vectors, one after the other."""

    ops: Mapping[str, OpDef]
    dtype: DType
    clip: float | None = None
    params: list[Var] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)

    def vector(self, name: str) -> Var:
        """Return a new vector that the row function reads."""
        var = Var(name, TensorType(self.dtype, (symbol("n"),)))
        self.params.append(var)
        return var

    def call(self, op: str, *args: Var, **attrs: AttrValue) -> Var:
        """Return the result of an operator."""
        typed = infer_call(self.ops[op], [a.type for a in args], Attrs(**attrs), [None] * len(args))
        return self._bind(Call(op, args, typed.attrs), typed.type)

    def number(self, value: float) -> Var:
        """Return a number, to be used as an operand."""
        data = np.asarray(value, to_numpy(self.dtype)).tobytes()
        return self._bind(Constant(self.dtype, (), data), TensorType(self.dtype, ()))

    def _bind(self, value: Call | Constant, type_: object) -> Var:
        var = Var(f"v{len(self.bindings)}", type_)  # type: ignore[arg-type]  # a tensor's
        self.bindings.append(Binding(var, value))
        return var

    def add(self, *terms: Var) -> Var:
        total, *rest = terms
        for term in rest:
            total = self.call("add", total, term)
        return total

    def multiply(self, x: Var, y: Var) -> Var:
        return self.call("multiply", x, y)

    def less(self, x: Var) -> Var:
        """Return 1 - x."""
        return self.call("subtract", self.number(1.0), x)

    def activate(self, activation: Activation, x: Var) -> Var:
        """Return an activation of ``x``, which is clipped first if that is asked for."""
        if self.clip is not None:
            x = self.call("clip", x, self.number(-self.clip), self.number(self.clip))
        name, parameters = activation
        return _ACTIVATIONS[name](self, x, parameters)

    def nest(self, results: Sequence[Var]) -> Nest:
        """Return the loop nest of a row function with these results."""
        whole = TupleType(tuple(r.tensor for r in results))
        last = Var("results", whole)
        body = Block((*self.bindings, Binding(last, MakeTuple(tuple(results)))), last)
        function = Function("gates", tuple(self.params), whole, body)
        rules: dict[str, LoopRule] = {n: o.loops for n, o in self.ops.items() if o.loops}
        return lower(function, rules)


def _affine(gates: Gates, x: Var, p: Sequence[float]) -> Var:
    return gates.add(gates.multiply(gates.number(p[0]), x), gates.number(p[1]))


def _scaled_tanh(gates: Gates, x: Var, p: Sequence[float]) -> Var:
    inner = gates.call("tanh", gates.multiply(gates.number(p[1]), x))
    return gates.multiply(gates.number(p[0]), inner)


_Rule: TypeAlias = Callable[[Gates, Var, Sequence[float]], Var]

_ACTIVATIONS: Final[Mapping[str, _Rule]] = {
    **{
        name: lambda gates, x, _, op=name: gates.call(op, x)  # type: ignore[misc]
        for name in ("relu", "tanh", "sigmoid", "softsign", "softplus")
    },
    "affine": _affine,
    "leakyrelu": lambda gates, x, p: gates.call("leaky_relu", x, alpha=p[0]),
    "thresholdedrelu": lambda gates, x, p: gates.call("thresholded_relu", x, alpha=p[0]),
    "scaledtanh": _scaled_tanh,
    "hardsigmoid": lambda gates, x, p: gates.call("hard_sigmoid", x, alpha=p[0], beta=p[1]),
    "elu": lambda gates, x, p: gates.call("elu", x, alpha=p[0]),
}


def lstm(ops: Mapping[str, OpDef], form: LstmForm) -> Nest:
    """Return the row function of lstm.

    It reads the summed gates input, output, forget, cell and the cell's state, then with peepholes
    those of input, output and forget; it writes the hidden state and the cell's.
    """
    gates = Gates(ops, form.dtype, form.clip)
    into, out, forget, candidate, cell = (gates.vector(f"x{i}") for i in range(5))
    peepholes = [gates.vector(f"p{i}") for i in range(3)] if form.peepholes else []
    f, g, h = form.activations
    if peepholes:
        into = gates.add(into, gates.multiply(peepholes[0], cell))
        forget = gates.add(forget, gates.multiply(peepholes[2], cell))
    kept = gates.activate(f, into)
    forgotten = gates.less(kept) if form.input_forget else gates.activate(f, forget)
    share = gates.multiply(kept, gates.activate(g, candidate))
    after = gates.add(gates.multiply(forgotten, cell), share)
    if peepholes:
        out = gates.add(out, gates.multiply(peepholes[1], after))
    hidden = gates.multiply(gates.activate(f, out), gates.activate(h, after))
    return gates.nest([hidden, after])


@final
@dataclass(frozen=True, slots=True)
class LstmForm:
    """What tells one lstm's gates from another's."""

    dtype: DType
    activations: tuple[Activation, Activation, Activation]
    clip: float | None
    input_forget: bool
    peepholes: bool


def gru_reset(ops: Mapping[str, OpDef], form: GruForm) -> Nest:
    """Return the row function of gru's reset: it reads the summed gate and the state."""
    gates = Gates(ops, form.dtype, form.clip)
    reset, before = gates.vector("r"), gates.vector("h")
    return gates.nest([gates.multiply(gates.activate(form.activations[0], reset), before)])


def gru(ops: Mapping[str, OpDef], form: GruForm) -> Nest:
    """Return the row function of gru's new state.

    It reads the summed update gate, the hidden gate, the state; and, if the reset comes after the
    product, the summed reset gate and the state's share of the hidden gate.
    """
    gates = Gates(ops, form.dtype, form.clip)
    update, hidden, before = (gates.vector(name) for name in ("z", "g", "h"))
    f, g = form.activations
    if form.linear:
        reset, share = gates.vector("r"), gates.vector("s")
        hidden = gates.add(hidden, gates.multiply(gates.activate(f, reset), share))
    z = gates.activate(f, update)
    candidate = gates.activate(g, hidden)
    kept = gates.multiply(z, before)
    return gates.nest([gates.add(gates.multiply(gates.less(z), candidate), kept)])


@final
@dataclass(frozen=True, slots=True)
class GruForm:
    """What tells one gru's gates from another's."""

    dtype: DType
    activations: tuple[Activation, Activation]
    clip: float | None
    linear: bool


def rnn(ops: Mapping[str, OpDef], dtype: DType, activation: Activation, clip: float | None) -> Nest:
    """Return the row function of rnn: it reads the summed gate."""
    gates = Gates(ops, dtype, clip)
    return gates.nest([gates.activate(activation, gates.vector("x"))])


@final
@dataclass(frozen=True)
class RowFunction:
    """A row function in a module, by name."""

    name: str
    nest: Nest

    def print(self, out: Assembly) -> None:
        """Write it into a module."""
        text = print_llvm(self.nest, self.name)
        for line in text.replace("define void", "define internal void").splitlines():
            if line.startswith("declare "):
                out.declared.add(line.removeprefix("declare "))
            else:
                out.lines.append(line)

    def call(
        self, out: Assembly, inputs: Sequence[Value], results: Sequence[Value], count: Value
    ) -> None:
        """Write a call; inputs and results are in the order that it was built with."""
        read = [inputs[access.input] for access in self.nest.accesses]
        arguments = ", ".join([*(f"ptr {x}" for x in (*read, *results)), f"i64 {count}"])
        out.do(f"call void @{self.name}.row({arguments})")


__all__ = ["Activation", "Gates", "GruForm", "LstmForm", "RowFunction"]
__all__ += ["gru", "gru_reset", "lstm", "rnn"]
