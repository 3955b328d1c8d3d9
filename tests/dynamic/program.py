"""A random program: its text, and statements that can be evaluated here, apart from the VM.

A statement is lines of text and a function from what is known to its value. So the writer of a
program always knows the sizes that it will meet, those that only the data tell included, and a
program's outcome is known before anything is compiled.

Values are NumPy arrays, shape values (`Sizes`), tuples, lists (`Cell` or ``None``), and Python
functions for closures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

import numpy as np

from reference_vm.diagnostics import DataError
from reference_vm.types.arrays import from_numpy

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Known: TypeAlias = "Mapping[str, Any]"
"""What is known of each name, ``%x``, and of each symbol, ``n``."""

MOST: Final = 4096
"""Elements of the largest tensor that a program may make."""


class TooLarge(Exception):
    """A value that a program should not make: only its writer ever sees this."""


@final
@dataclass(frozen=True)
class Sizes:
    """A shape value."""

    dims: tuple[int, ...]


@final
@dataclass(frozen=True)
class Cell:
    """A list that is not empty."""

    head: Any
    tail: Cell | None


@final
@dataclass(frozen=True)
class Statement:
    """The binding of one name."""

    name: str
    lines: tuple[str, ...]
    """Its text, as many lines as it takes; those of regions are indented."""

    apply: Callable[[Known], Any]
    """Raises `DataError` where a run ends in an error."""

    symbols: tuple[tuple[str, int], ...] = ()
    """Symbols that get their value here, each with the axis that has it."""


@final
@dataclass(frozen=True)
class Region:
    """Statements, and which name is their result."""

    statements: tuple[Statement, ...]
    result: str
    is_vague: bool = False
    """Whether inference may not know the result's rank."""

    def lines(self, end: str) -> tuple[str, ...]:
        """Return the text of the region, which gives out its result by ``end``."""
        inner = [f"  {line}" for s in self.statements for line in s.lines]
        return (*inner, f"  {end} {self.result}")

    def value(self, known: Known) -> Any:
        """Return the result; what the region binds is seen inside it only."""
        inner = dict(known)
        for statement in self.statements:
            bind(statement, inner)
        return inner[self.result]


def bind(statement: Statement, known: dict[str, Any]) -> None:
    """Add what a statement binds.

    Raises:
        DataError: A run would end here.
        TooLarge: The value is too large for a test.
    """
    value = statement.apply(known)
    if isinstance(value, np.ndarray) and value.size > MOST:
        raise TooLarge
    known[statement.name] = value
    for symbol, axis in statement.symbols:
        known[symbol] = value.shape[axis]


@final
@dataclass(frozen=True)
class Definition:
    """A function of the module."""

    name: str
    params: tuple[tuple[str, str], ...]
    """Name and type of each."""

    symbols: tuple[tuple[str, int, int], ...]
    """Symbols that the parameters bind: name, parameter and axis."""

    result: str
    """The type."""

    body: Region

    def text(self) -> str:
        params = ", ".join(f"{name}: {type_}" for name, type_ in self.params)
        head = f"fn @{self.name}({params}) -> {self.result}"
        entry = " attrs { entry = true }" if self.name == "main" else ""
        return "\n".join((f"  {head}{entry} {{", *self._body(), "  }"))

    def _body(self) -> list[str]:
        return [f"  {line}" for line in self.body.lines("return")]

    def value(self, args: Sequence[Any]) -> Any:
        """Return the result for arguments."""
        known: dict[str, Any] = {n: v for (n, _), v in zip(self.params, args, strict=True)}
        for symbol, place, axis in self.symbols:
            known[symbol] = args[place].shape[axis]
        return self.body.value(known)


@final
@dataclass(frozen=True)
class Program:
    """A module, what to call its ``main`` with, and how that ends."""

    seed: int
    text: str
    args: tuple[Any, ...]
    outcome: Outcome


@final
@dataclass(frozen=True)
class Outcome:
    """The value of a run, or the code of its error."""

    value: Any = None
    error: str | None = None
    leaves: tuple[Array, ...] = field(default=())


def outcome(main: Definition, args: Sequence[Any]) -> Outcome:
    """Return how a run of ``main`` ends."""
    try:
        value = main.value(args)
    except DataError as error:
        return Outcome(error=error.code)
    return Outcome(value, leaves=tuple(arrays(value)))


def arrays(value: Any) -> list[Array]:
    """Return the arrays in a value, in the order in which a caller is given them."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, Sizes):
        return [np.array(value.dims, np.int64)]
    if isinstance(value, Cell):
        return [*arrays(value.head), *arrays(value.tail)]
    return [a for item in value or () for a in arrays(item)]


def dtype_name(array: Array) -> str:
    return str(from_numpy(array.dtype))
