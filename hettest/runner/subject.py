"""The implementation under test: what a run asks of it, and the way to it within this process.

`hettest.isolation` has the other way, through a process of its own; both are a `Subject`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, final

from hettest.backend.discovery import load
from hettest.backend.facts import Facts, facts_of, notes_of
from hettest.backend.guard import crashes
from hettest.backend.protocol import Backend
from hettest.outcome import Record
from hettest.runner.asked import Asked

if TYPE_CHECKING:
    from hettest.case.expansion import Item
    from hettest.runner.run import Environment


class Subject(Protocol):
    """A backend that can be asked about itself, and runs items."""

    @property
    def facts(self) -> Facts:
        """What it says of itself.

        Raises:
            UsageError: It cannot be loaded.
            BackendCrash: It raised something, or its process died.
        """
        ...

    @property
    def unavailable(self) -> Mapping[str, str]:
        """Why, for each device that was asked for and is missing; raises as `facts` does."""
        ...

    def notes(self) -> Sequence[str]:
        """Return the sentences that it has on this installation; raises as `facts` does."""
        ...

    def run(self, item: Item) -> Record:
        """Return how an item ended, whose devices are all available."""
        ...

    def close(self) -> None:
        """Give back what was opened.

        Raises:
            BackendCrash: The backend raised something instead.
        """
        ...


@final
@dataclass
class InProcess:
    """A backend in this process; loaded when it is first needed."""

    asked: Asked

    @cached_property
    def backend(self) -> Backend:
        """The backend itself.

        Raises:
            UsageError: It cannot be loaded.
        """
        return load(self.asked.backend)

    @cached_property
    def facts(self) -> Facts:
        return facts_of(self.backend)

    @cached_property
    def unavailable(self) -> Mapping[str, str]:
        return self.facts.unavailable(self.asked.needed or self.asked.devices)

    def notes(self) -> tuple[str, ...]:
        return notes_of(self.backend)

    @cached_property
    def environment(self) -> Environment:
        """What running conformance items needs; raises as `facts` does."""
        from hettest.runner.run import Environment

        asked = self.asked
        return Environment(
            self.backend,
            asked.backend,
            asked.devices,
            self.unavailable,
            asked.chosen_by,
            asked.seed,
        )

    def run(self, item: Item) -> Record:
        from hettest.runner.run import run_item

        return run_item(item, self.environment)

    def close(self) -> None:
        if "backend" not in self.__dict__:
            return
        with crashes(f"{self.asked.backend}.close()"):
            self.backend.close()
