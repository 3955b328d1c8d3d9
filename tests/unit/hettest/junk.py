"""Values that no backend should give: they say or do what they like when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn

import numpy as np


class Agreeable(str):
    """A text that equals every other."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return hash("cpu:0")


class Boundless(int):
    """A number that is within every bound."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __lt__(self, other: Any) -> bool:
        return True

    __le__ = __gt__ = __ge__ = __lt__

    def __hash__(self) -> int:
        return 0


class Raises:
    """Raises whatever is done with it."""

    def _raise(self, *_: Any) -> NoReturn:
        raise RuntimeError("do not touch")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _raise
    __str__ = __repr__ = __len__ = __iter__ = __bool__ = __getattr__ = _raise

    def __hash__(self) -> int:
        raise RuntimeError("do not touch")


class Leaves(Raises):
    """Ends the process whatever is done with it, as far as Python can."""

    def _raise(self, *_: Any) -> NoReturn:
        raise SystemExit(0)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _raise
    __str__ = __repr__ = __len__ = __iter__ = __bool__ = __getattr__ = _raise


class Close(np.ndarray[Any, Any]):
    """An array whose every comparison holds."""

    def __eq__(self, other: object) -> Any:
        return np.ones(self.shape, bool)

    def __sub__(self, other: object) -> Any:
        return np.zeros(self.shape, np.float32)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return np.ones(self.shape, bool)

    def tobytes(self, *_: Any) -> bytes:
        return b""


class Odd(type):
    """The class of classes without a name."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("nameless")


class Nameless(metaclass=Odd):
    pass


class Silent(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise TypeError("no text")

    def __repr__(self) -> str:
        raise TypeError("no text")

    def __eq__(self, other: object) -> bool:
        raise TypeError("no equal")

    __hash__ = Exception.__hash__


class ReadsAsMany(Mapping[str, Any]):
    """A mapping that raises when it is read."""

    def __getitem__(self, key: str) -> NoReturn:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(("main/%s",))

    def __len__(self) -> int:
        return 1


VALUES: Final[Mapping[str, Callable[[], Any]]] = {
    "none": lambda: None,
    "true": lambda: True,
    "zero": lambda: 0,
    "minus": lambda: -1,
    "huge": lambda: 10**40,
    "unprintable": lambda: 10**5000,
    "word": lambda: 2**63,
    "half": lambda: 0.5,
    "nan": lambda: float("nan"),
    "infinite": lambda: float("inf"),
    "text": lambda: "sim:0",
    "empty": lambda: "",
    "surrogate": lambda: "main/%\ud800",
    "long": lambda: "x" * 300_000,
    "control": lambda: "\x00\x1b[31m\r\n",
    "bytes": lambda: b"cpu:0",
    "list": lambda: [1],
    "tuple": lambda: ("main/%s", 1),
    "deep": lambda: _deep(5000),
    "mapping": lambda: {"main/%s": None},
    "class": lambda: Nameless,
    "instance": lambda: Nameless(),
    "scalar": lambda: np.int64(7),
    "array": lambda: np.zeros(3, np.complex64),
    "objects": lambda: np.array([Raises(), None], object),
    "strings": lambda: np.array(["a", "b"]),
    "dates": lambda: np.array(["2026-01-01"], "datetime64[D]"),
    "records": lambda: np.zeros(2, [("a", "f4")]),
    "close": lambda: np.zeros(4, np.float32).view(Close),
    "agreeable": lambda: Agreeable("anything"),
    "boundless": lambda: Boundless(-5),
    "raises": Raises,
    "leaves": Leaves,
    "reads": ReadsAsMany,
    "silent": Silent,
}


def _deep(depth: int) -> Any:
    made: Any = ()
    for _ in range(depth):
        made = (made,)
    return made
