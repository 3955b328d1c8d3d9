"""A mutant: the reference with one thing broken, and the corpus items that must notice.

The reference is not told that it is being broken. A mutant rewrites what goes in (module, device
map, options), replaces one name of the reference while a program is loaded or while it runs, or
rewrites the observation that comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, final
from unittest.mock import patch

from hettest.backend.protocol import DeviceInfo, Mode, Observation, Options, Program, Rejected
from hettest.capability import missing
from hettest.expect.claims import FIELDS
from hettest.language import DiagnosticError, Module, parse
from hettest.runner import ModuleProgram
from reference_vm.conformance import Backend as Reference
from reference_vm.conformance import Executable

PAIR: Final = ("cpu:0", "sim:0")
"""The devices that kills are stated for."""

TRIO: Final = ("cpu:0", "sim:0", "sim:1")
"""Those of kills that need a second accelerator."""


@final
@dataclass(frozen=True, slots=True)
class Kill:
    """An item that must fail on the mutant."""

    item: str
    by: frozenset[str]
    """The clauses that fail; every other clause of the item is proven."""


def kill(item: str, *by: str) -> Kill:
    return Kill(item, frozenset(by))


@final
@dataclass(frozen=True, slots=True)
class Replacement:
    """A name of the reference, and what stands there instead."""

    owner: Any
    name: str
    value: Any


Results: TypeAlias = Any
Runner: TypeAlias = Callable[[Executable, str, Sequence[Any]], Observation]


def honest_run(executable: Executable, entry: str, args: Sequence[Any]) -> Observation:
    return executable.run(entry, args)


def only_reporting(claims: frozenset[str]) -> frozenset[str]:
    """Claim no more than a backend can that is known by its report alone."""
    return claims | {"-observe:meter", "-observe:perturbation"}


def same(value: Any) -> Any:
    return value


@final
@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One way to be wrong."""

    name: str
    breaks: str
    """What it does, one phrase."""

    kills: tuple[Kill, ...]
    fault_class: str = ""
    """The kind of public report that it stands for (`fault_classes`), if any."""

    module: Callable[[Module], Module] = same
    device_map: Callable[[Mapping[str, str]], Mapping[str, str]] = same
    options: Callable[[Options], Options] = same
    loading: tuple[Replacement, ...] = ()
    """In force while a program is compiled and loaded."""

    running: tuple[Replacement, ...] = ()
    """In force while it runs."""

    runner: Callable[[], Runner] = field(default=lambda: honest_run)
    """Makes what runs one executable; called once for each."""

    observation: Callable[[Module, Mapping[str, str], Observation], Observation] = field(
        default=lambda module, device_map, seen: seen
    )
    refusal: Callable[[Rejected], Rejected] = same
    claims: Callable[[frozenset[str]], frozenset[str]] = same
    """Of what the reference claims; what is not claimed is not shown either."""

    def backend(self) -> MutantBackend:
        return MutantBackend(self)


@contextmanager
def _in_force(replacements: Sequence[Replacement]) -> Iterator[None]:
    with ExitStack() as stack:
        for r in replacements:
            stack.enter_context(patch.object(r.owner, r.name, r.value))
        yield


@final
@dataclass(frozen=True)
class MutantBackend:
    """The reference, broken as the mutant says."""

    mutant: Mutant
    reference: Reference = field(default_factory=Reference)

    @property
    def name(self) -> str:
        return self.mutant.name

    @property
    def capabilities(self) -> frozenset[str]:
        return self.mutant.claims(self.reference.capabilities)

    def devices(self) -> Sequence[DeviceInfo]:
        return self.reference.devices()

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> MutantExecutable:
        mutant = self.mutant
        try:
            module = parse(program.text, program.id)
        except DiagnosticError:
            module = None
        changed = program if module is None else ModuleProgram(program.id, mutant.module(module))
        try:
            with _in_force(mutant.loading):
                executable = self.reference.compile(
                    changed, mutant.device_map(device_map), mutant.options(options)
                )
        except Rejected as rejected:
            raise mutant.refusal(rejected) from None
        assert module is not None
        assert isinstance(executable, Executable), "no mutant is timed"
        claims = self.capabilities
        return MutantExecutable(mutant, executable, module, device_map, mutant.runner(), claims)

    def close(self) -> None:
        self.reference.close()


@final
@dataclass(frozen=True)
class MutantExecutable:
    mutant: Mutant
    executable: Executable
    module: Module
    device_map: Mapping[str, str]
    runner: Runner
    claims: frozenset[str]

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
        with _in_force(self.mutant.running):
            seen = self.runner(self.executable, entry, args)
        shown = self.mutant.observation(self.module, self.device_map, seen)
        unclaimed = (name for word, name in FIELDS.items() if missing([word], self.claims))
        hidden: dict[str, Any] = dict.fromkeys(unclaimed)
        return replace(shown, **hidden)
