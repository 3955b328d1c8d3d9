"""The smallest programs that a backend can be asked to run, by what it claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, final

from hettest.capability import missing
from hettest.language import numpy_dtype

if TYPE_CHECKING:
    from hettest.backend.protocol import Array

_DTYPES: Final = ("f32", "f64", "f16", "bf16", "i32", "i64", "i16", "i8", "u8", "bool")
_OPERATORS: Final = {
    "add": 2,
    "multiply": 2,
    "subtract": 2,
    "maximum": 2,
    "minimum": 2,
    "negative": 1,
    "abs": 1,
    "relu": 1,
    "exp": 1,
    "tanh": 1,
    "sqrt": 1,
    "identity": 1,
    "logical_and": 2,
    "logical_or": 2,
    "logical_not": 1,
}
"""Operators whose result is of the dtype and shape of their operands, with how many they take."""


@final
@dataclass(frozen=True)
class Example:
    """A program with one function, `main`, and what it takes and returns."""

    name: str
    text: str
    dtype: str
    takes: tuple[tuple[int, ...], ...]
    """The shapes of its arguments."""

    returns: tuple[int, ...] | tuple[tuple[int, ...], ...]
    """The shape of its result; a tuple of shapes for a tuple of results."""

    tuple_argument: bool = False
    """Whether all arguments are handed over as one tuple."""

    roles: tuple[str, ...] = ()
    computed: dict[str, str] = field(default_factory=dict)
    """The role that each variable must be computed on: ``main/%s``."""

    reads: tuple[tuple[str, str], ...] = ()
    """Each variable that is read, with the one that is computed from it."""

    def arrays(self, start: int = 1) -> list[Array]:
        """Return fresh arguments, one array for each; small numbers from ``start`` on."""
        import numpy as np

        made: list[Array] = []
        for shape in self.takes:
            count = int(np.prod(shape))
            numbers = [(start + len(made) + i) % 7 for i in range(count)]
            made.append(np.array(numbers).astype(numpy_dtype(self.dtype)).reshape(shape))
        return made


def dtype_for(claims: frozenset[str]) -> str | None:
    """Return the dtype that examples use; ``None`` if no usual one is claimed."""
    return next((d for d in _DTYPES if not missing([f"dtype:{d}"], claims)), None)


def operator_for(claims: frozenset[str], dtype: str) -> str | None:
    """Return a claimed operator that examples use; ``None`` if no simple one is claimed."""
    found = (op for op in _OPERATORS if not missing([f"op:{op}:{dtype}"], claims))
    return next(found, None)


def returned(dtype: str) -> Example:
    """A program that computes nothing: it returns its argument."""
    text = _module(f"(%x: {dtype}[3]) -> {dtype}[3]", [], "x")
    return Example("the argument returned", text, dtype, ((3,),), (3,))


def one_operator(dtype: str, op: str, shape: Sequence[int] = (2, 3)) -> Example:
    """A program of one operator on operands of one shape."""
    dims = ", ".join(map(str, shape))
    type_ = f"{dtype}[{dims}]"
    names = _operands(op)
    params = ", ".join(f"%{name}: {type_}" for name in names)
    text = _module(f"({params}) -> {type_}", [f"%r = {_call(op, names)}"], "r")
    shapes = (tuple(shape),) * len(names)
    return Example(f"{op} of {type_}", text, dtype, shapes, tuple(shape))


def two_results(dtype: str) -> Example:
    """A program that returns its two arguments as a tuple."""
    first, second = f"{dtype}[2]", f"{dtype}[3]"
    signature = f"(%x: {first}, %y: {second}) -> ({second}, {first})"
    text = _module(signature, ["%r = (%y, %x)"], "r")
    return Example("a tuple of two results", text, dtype, ((2,), (3,)), ((3,), (2,)))


def tuple_taken(dtype: str) -> Example:
    """A program that takes a tuple and returns its second item."""
    signature = f"(%t: ({dtype}[2], {dtype}[3])) -> {dtype}[3]"
    text = _module(signature, ["%r = %t[1]"], "r")
    return Example("a tuple as argument", text, dtype, ((2,), (3,)), (3,), tuple_argument=True)


_Step: TypeAlias = tuple[str, tuple[str, ...], str]
"""A variable, those that it is computed from, and the role on which."""


def two_devices(dtype: str, op: str) -> Example:
    """A program of three operators on two devices, an argument of which both devices read.

    Of an operator that takes one operand, a program of two, one after the other.
    """
    if _OPERATORS[op] == 1:
        return _apart(dtype, op, ("x",), (("s", ("x",), "first"), ("r", ("s",), "second")))
    steps: tuple[_Step, ...] = (
        ("s", ("x", "y"), "first"),
        ("t", ("y", "z"), "second"),
        ("r", ("s", "t"), "first"),
    )
    return _apart(dtype, op, ("x", "y", "z"), steps)


def _apart(dtype: str, op: str, takes: Sequence[str], steps: Sequence[_Step]) -> Example:
    """A program of one operator, each time on another device; each type is written down."""
    type_, (last, _, place) = f"{dtype}[5]", steps[-1]
    params = ", ".join(f"%{name}: {type_}" for name in takes)
    lines = [f"%{var}: {type_} = {_call(op, names)} @{role}" for var, names, role in steps]
    return Example(
        f"{op} on two devices",
        _module(f"({params}) -> {type_} @{place}", lines, last, ("first", "second")),
        dtype,
        ((5,),) * len(takes),
        (5,),
        roles=("first", "second"),
        computed={f"main/%{var}": role for var, _, role in steps},
        reads=tuple((f"main/%{n}", f"main/%{var}") for var, names, _ in steps for n in names),
    )


def malformed(dtype: str) -> Iterator[tuple[str, str, int, str]]:
    """Yield programs that must be refused: what is wrong, the text, the line and our code."""
    use = _module(f"(%x: {dtype}[3]) -> {dtype}[3]", ["%r = exp(%nowhere)"], "r")
    yield "a variable that nothing binds", use, 3, "undefined-variable"
    broken = _module(f"(%x: {dtype}[3]) -> {dtype}[3]", ["%r = exp(%x"], "r")
    yield "a missing parenthesis", broken, 4, "syntax-error"


def _operands(op: str) -> tuple[str, ...]:
    return ("x", "y")[: _OPERATORS[op]]


def _call(op: str, names: Sequence[str]) -> str:
    return f"{op}({', '.join(f'%{name}' for name in names)})"


def _module(signature: str, lines: Sequence[str], result: str, roles: Sequence[str] = ()) -> str:
    declared = [f"  vdevice {', '.join(f'@{role}' for role in roles)}"] if roles else []
    body = [f"    {line}" for line in lines]
    opening = ["module {", *declared, f"  fn @main{signature} {{"]
    return "\n".join([*opening, *body, f"    return %{result}", "  }", "}", ""])
