"""A value of a JSON document together with where it stands, so that what is wrong can be located.

The path is written as one would index the document: ``functions[0].body.bindings[2].args[1]``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, NoReturn, final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.types import DTYPES, DType

_SHOWN: Final = 60


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A value, and its path; every reading method raises a located `CompileError`."""

    value: Any
    path: str = ""

    def fail(self, expected: str, help: str | None = None) -> NoReturn:  # noqa: A002 - the diagnostic's own word
        """Refuse the value.

        Raises:
            CompileError: Always; it says what was found here and what was expected.
        """
        raise CompileError(catalog.invalid_tree(self.path, _shown(self.value), expected, help))

    def fields(self, required: Collection[str], optional: Collection[str] = ()) -> None:
        """Check that this is an object with these keys and no others."""
        if not isinstance(self.value, Mapping):
            self.fail("an object")
        for key in self.value:
            if key not in required and key not in optional:
                known = (*required, *optional)
                near = get_close_matches(str(key), known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"its keys are {', '.join(known)}"
                Place(key, self.path).fail("no such key", hint)
        for key in required:
            if key not in self.value:
                self.fail(f"a key {key}")

    def at(self, key: str) -> Place:
        """Return what stands under ``key``, ``None`` if the object has no such key."""
        return Place(self.value.get(key), f"{self.path}.{key}" if self.path else key)

    def items(self) -> Iterator[Place]:
        """Yield the items of a list."""
        if not isinstance(self.value, list | tuple):
            self.fail("a list")
        for index, item in enumerate(self.value):
            yield Place(item, f"{self.path}[{index}]")

    def pairs(self) -> Iterator[tuple[str, Place]]:
        """Yield the keys and values of an object."""
        if not isinstance(self.value, Mapping):
            self.fail("an object")
        for key in self.value:
            yield key, self.at(key)

    def text(self, expected: str = "a string") -> str:
        if not isinstance(self.value, str):
            self.fail(expected)
        return self.value

    def number(self, least: int | None = None) -> int:
        """Return an integer, ``least`` or more."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.fail("an integer")
        if least is not None and self.value < least:
            self.fail(f"{least} or more")
        return self.value

    def truth(self) -> bool:
        if not isinstance(self.value, bool):
            self.fail("true or false")
        return self.value

    def dtype(self) -> DType:
        found = DTYPES.get(self.text("a dtype such as f32"))
        if found is None:
            near = get_close_matches(self.value, DTYPES, n=1)
            self.fail("a dtype such as f32", f"did you mean {near[0]}?" if near else None)
        return found

    @property
    def is_absent(self) -> bool:
        """Whether this is ``null`` or nothing stands here."""
        return self.value is None


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"an object with {', '.join(map(str, value)) or 'no keys'}"[:_SHOWN]
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
