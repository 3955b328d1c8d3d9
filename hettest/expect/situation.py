"""What every check is given: a program, how it was run, and what was seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

from hettest.backend.ownership import Ownership
from hettest.backend.protocol import Observation
from hettest.case import walk
from hettest.case.model import Expect
from hettest.devicemap import Binding
from hettest.language import Module, VirtualDevice, nodes

if TYPE_CHECKING:
    from hettest.backend.protocol import Value
    from hettest.expect.caused import Caused

HOST = "cpu:0"
_MOVES = frozenset({"device_copy", "to_vdevice", "hint_on_device", "match_cast"})


@final
@dataclass(frozen=True)
class Situation:
    """One run, beside what is expected of it."""

    module: Module
    entry: str
    args: Sequence[Value]
    binding: Binding
    default: str
    policy: str
    expect: Expect
    expected: Value | None
    """The literal result; ``None`` to judge by the oracle alone."""

    observation: Observation
    baseline: Callable[[], Observation | None]
    """The CPU-only run of the same program, made when a check asks for it."""

    numbers_hold: bool
    """Whether the numbers in ``expect`` are for this binding."""

    ownership: Callable[[], Ownership] | None = None
    """Finds out what became of the arguments, and of the results of the run before."""

    seed: int = 0
    """For the judge's evaluations with random rounding."""

    doubled: Callable[[str], Observation] | None = None
    """Runs the program again with every floating result that a device computes doubled; ``None``
    where the backend cannot, or the run is not one to be repeated."""

    def device(self, role: str) -> str:
        """Return the device that a role is bound to; an unbound ``host`` is the host."""
        return self.binding.get(role, HOST)

    def device_of(self, place: VirtualDevice) -> str:
        """Return the device that a suffix or a type of the program names."""
        return self.device(place.role) if place.device is None else str(place.device)

    @property
    def has_accelerators(self) -> bool:
        """Whether the run is to use any device beside the host."""
        return not {*self.binding.values(), self.default} <= {HOST}

    @property
    def function(self) -> nodes.Function:
        return self.module.by_name[self.entry]

    @cached_property
    def requested(self) -> Mapping[str, tuple[str, int | None]]:
        """The role of each requested operator, and its line, by its variable: ``main/%s``."""
        found: dict[str, tuple[str, int | None]] = {}
        for function in self.module.functions:
            for binding in walk.bindings(function):
                value, role = binding.value, binding.request
                if isinstance(value, nodes.Call) and role is not None and value.op not in _MOVES:
                    line = value.span.line if value.span is not None else None
                    found[walk.name_of(function, binding.var)] = (role.role, line)
        return found

    @cached_property
    def calls(self) -> Mapping[str, nodes.Call]:
        """The operator that each variable is computed by: ``main/%s``."""
        return {
            walk.name_of(function, binding.var): binding.value
            for function in self.module.functions
            for binding in walk.bindings(function)
            if isinstance(binding.value, nodes.Call)
        }

    @cached_property
    def made_on(self) -> Mapping[str, frozenset[str]]:
        """The devices on which each variable was computed, as far as the backend shows it."""
        found: dict[str, set[str]] = {}
        for execution in self.observation.executions or ():
            for name in execution.defines:
                found.setdefault(name, set()).add(execution.device)
        return {name: frozenset(devices) for name, devices in found.items()}

    @cached_property
    def executed(self) -> Mapping[str, int]:
        """The first execution that computed each variable, by its place in the report."""
        found: dict[str, int] = {}
        for place, execution in enumerate(self.observation.executions or ()):
            for name in execution.defines:
                found.setdefault(name, place)
        return found

    @cached_property
    def last(self) -> Mapping[str, int]:
        """The last execution that computed each variable: the one that intermediates are of."""
        executions = self.observation.executions or ()
        return {name: place for place, e in enumerate(executions) for name in e.defines}

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The value that each symbol of the entry's parameters has in this run."""
        from hettest.expect.sizes import symbols_of

        return symbols_of(self.function, self.args)

    @cached_property
    def caused(self) -> Caused | None:
        """What doubling one device after the other showed; ``None`` where it was not done."""
        from hettest.expect.caused import caused

        return caused(self)
