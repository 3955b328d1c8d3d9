"""Numbers that note what is done with them, so that it can be done again without Python.

    recording = Recording()
    rows, columns = recording.given(3), recording.given(4)
    total = rows * columns + 1 if rows != 1 else columns      # any code on plain ints
    recording.place(total)                                    # where it stands in the end

A `Traced` number is worth what was given for it, so code runs as on ints. Every operation becomes a
step of a program (`steps`), and whatever the code decided by a number becomes a step that checks
that the decision would be the same. So a program either does what the code does for other numbers,
or finds that it is not for them. A number that leaves the record (as an index, say, or into an
array) is decided to be what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final, NoReturn, TypeAlias, final

import numpy as np

Number: TypeAlias = "int | Traced"


class Do(IntEnum):
    """The first word of a step; then two places of numbers, or a constant and 0.

    Steps that make a number put it behind all others; the rest check.
    """

    CONSTANT = 0
    ADD = 1
    SUBTRACT = 2
    MULTIPLY = 3
    FLOOR_DIVIDE = 4
    REMAINDER = 5
    EQUAL = 6
    UNEQUAL = 7
    LESS = 8
    NOT_LESS = 9


STEP_WORDS: Final = 3

_OPPOSITE: Final = {Do.EQUAL: Do.UNEQUAL, Do.LESS: Do.NOT_LESS}


class Untraceable(AttributeError):
    """Code asked what a number is, not what it is worth: it cannot be traced."""


@final
class Recording:
    """A program in the making."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, int]] = []
        self._places: dict[tuple[int, int, int], int] = {}
        """Where the result of each step stands; -1 for a check."""

        self.inputs = 0
        self.numbers = 0
        """Given or made."""

    def given(self, value: int) -> Traced:
        """Return a number that will be another one in other runs; all come before any step."""
        assert not self.steps, "what is given stands first"
        self.inputs += 1
        self.numbers += 1
        return Traced(self, self.numbers - 1, value)

    def place(self, number: Number) -> int:
        """Return where a number stands among those that were given and made."""
        if isinstance(number, Traced):
            return number.place
        return self._place((Do.CONSTANT, int(number), 0))

    def made(self, do: Do, left: Number, right: Number, value: int) -> Traced:
        """Note a step that makes a number."""
        step = (int(do), self.place(left), self.place(right))
        return Traced(self, self._place(step), value)

    def decided(self, do: Do, left: Number, right: Number, outcome: bool) -> bool:
        """Note how a comparison came out."""
        step = (int(do if outcome else _OPPOSITE[do]), self.place(left), self.place(right))
        if step not in self._places:
            self._places[step] = -1
            self.steps.append(step)
        return outcome

    def words(self) -> list[int]:
        """Return how many steps there are, and their words."""
        return [len(self.steps), *(w for step in self.steps for w in step)]

    def _place(self, step: tuple[int, int, int]) -> int:
        found = self._places.get(step)
        if found is None:
            found = self._places[step] = self.numbers
            self.steps.append(step)
            self.numbers += 1
        return found


@final
class Traced:
    """A number of a recording."""

    __slots__ = ("place", "recording", "value")

    @property
    def __class__(self) -> type:
        """Code that asks whether this is an int shall treat it as one."""
        return int

    @__class__.setter
    def __class__(self, _: type) -> None:
        raise AttributeError("a number stays one")

    def __init__(self, recording: Recording, place: int, value: int) -> None:
        self.recording = recording
        self.place = place
        self.value = value

    def __getattr__(self, name: str) -> NoReturn:
        raise Untraceable(f"a number that is traced has no {name}")

    def __add__(self, other: Number) -> Number:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if is_plain(other, 0):
            return self
        return self.recording.made(Do.ADD, self, other, self.value + worth(other))

    def __radd__(self, other: int) -> Number:
        return self + other

    def __sub__(self, other: Number) -> Number:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if is_plain(other, 0):
            return self
        return self.recording.made(Do.SUBTRACT, self, other, self.value - worth(other))

    def __rsub__(self, other: int) -> Number:
        return self.recording.made(Do.SUBTRACT, other, self, other - self.value)

    def __mul__(self, other: Number) -> Number:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if is_plain(other, 1):
            return self
        if is_plain(other, 0):
            return 0
        return self.recording.made(Do.MULTIPLY, self, other, self.value * worth(other))

    def __rmul__(self, other: int) -> Number:
        return self * other

    def __floordiv__(self, other: Number) -> Number:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if is_plain(other, 1):
            return self
        return self.recording.made(Do.FLOOR_DIVIDE, self, other, self.value // worth(other))

    def __rfloordiv__(self, other: int) -> Number:
        return self.recording.made(Do.FLOOR_DIVIDE, other, self, other // self.value)

    def __mod__(self, other: Number) -> Number:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.recording.made(Do.REMAINDER, self, other, self.value % worth(other))

    def __rmod__(self, other: int) -> Number:
        return self.recording.made(Do.REMAINDER, other, self, other % self.value)

    def __divmod__(self, other: Number) -> tuple[Number, Number]:
        return self // other, self % other

    def __rshift__(self, bits: int) -> Number:
        return self // (1 << bits)

    def __lshift__(self, bits: int) -> Number:
        return self * (1 << bits)

    def __and__(self, other: int) -> int:
        return int(self) & other

    def __or__(self, other: int) -> int:
        return int(self) | other

    def __pow__(self, other: int) -> int:
        return int(pow(int(self), other))

    def __neg__(self) -> Number:
        return 0 - self

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return -self if self < 0 else self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | Traced):
            return NotImplemented
        return self.recording.decided(Do.EQUAL, self, other, self.value == worth(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Number) -> bool:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.recording.decided(Do.LESS, self, other, self.value < worth(other))

    def __gt__(self, other: Number) -> bool:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.recording.decided(Do.LESS, other, self, worth(other) < self.value)

    def __le__(self, other: Number) -> bool:
        return not self > other

    def __ge__(self, other: Number) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return self != 0

    def __index__(self) -> int:
        """Leave the record: from here on the number is decided."""
        self.recording.decided(Do.EQUAL, self, self.value, True)
        return self.value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Leave the record, since what is done with an array is not noted."""
        return np.array(int(self), dtype)

    __int__ = __index__
    __trunc__ = __index__
    __floor__ = __index__
    __ceil__ = __index__

    def __float__(self) -> float:
        return float(int(self))

    def __hash__(self) -> int:
        return hash(int(self))

    def __repr__(self) -> str:
        return repr(int(self))

    def __format__(self, form: str) -> str:
        return format(int(self), form)

    def __truediv__(self, other: Number | float) -> float:
        return int(self) / (int(other) if isinstance(other, Traced) else other)

    def __rtruediv__(self, other: float) -> float:
        return other / int(self)

    def bit_length(self) -> int:
        return int(self).bit_length()


def worth(number: Number) -> int:
    """Return what a number is worth now."""
    return number.value if isinstance(number, Traced) else number


def is_plain(number: object, value: int) -> bool:
    """Whether a number is an int, and this one."""
    return not isinstance(number, Traced) and number == value


def given(recording: Recording, dims: Sequence[int]) -> tuple[Traced, ...]:
    """Return dims that note what is done with them."""
    return tuple(recording.given(d) for d in dims)


__all__ = ["STEP_WORDS", "Do", "Number", "Recording", "Traced", "Untraceable", "given", "worth"]
