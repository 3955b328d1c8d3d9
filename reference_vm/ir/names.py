"""Names that are given once: of variables, functions, roles and symbols."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final


@final
@dataclass(slots=True)
class FreshNames:
    """Hands out names, each once."""

    taken: set[str] = field(default_factory=set)
    separator: str = "."
    numbers: dict[str, int] = field(default_factory=dict)

    def fresh(self, name: str) -> str:
        """Return ``name``, or ``name.1``, ``name.2`` … if it is taken."""
        candidate = name
        while candidate in self.taken:
            self.numbers[name] = self.numbers.get(name, 0) + 1
            candidate = f"{name}{self.separator}{self.numbers[name]}"
        self.taken.add(candidate)
        return candidate
