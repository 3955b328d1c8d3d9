"""Checks a program of one's own: CPU-only and placed, values, placement and copies.

::

    report = het.check(PROGRAM, args, on=device_pair)
    assert report.copies <= 2
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, final

from hettest.backend.calls import claims_of, compiled, observed
from hettest.backend.discovery import devices_of, info
from hettest.backend.guard import named
from hettest.backend.nesting import copied
from hettest.backend.ownership import Kept, ownership
from hettest.backend.protocol import (
    Backend,
    Copy,
    DeviceInfo,
    Executable,
    Observation,
    Options,
    Program,
    Rejected,
)
from hettest.case.model import Expect
from hettest.devicemap import Binding, canonical, show
from hettest.errors import HettestError, MissingDevice, ProtocolBreach, UsageError
from hettest.expect.catalog import CHECKS
from hettest.expect.claims import check as kept_claims
from hettest.expect.evidence import graded
from hettest.expect.named import Listed
from hettest.expect.situation import Situation
from hettest.expect.transfers import COPIES, MOVED, listing, tally
from hettest.outcome import Clause, Status
from hettest.runner.given import (
    Args,
    HetFailure,
    Source,
    Where,
    arguments_of,
    binding_of,
    briefly,
    headline,
    program_of,
    roles_of,
)
from hettest.runner.program import ModuleProgram, TextProgram
from hettest.runner.story import executed, source

if TYPE_CHECKING:
    from hettest.backend.protocol import Value

__all__ = ["Het", "HetFailure", "Prepared", "Report", "Source", "Where"]


@final
@dataclass(frozen=True)
class Prepared:
    """A program compiled for one binding, and for the CPU alone."""

    program: TextProgram | ModuleProgram
    binding: Binding
    options: Options
    placed: Executable
    cpu_only: Executable


@final
@dataclass(frozen=True, repr=False)
class Report:
    """What was seen of a program whose checks all hold."""

    results: Value
    cpu_only: Value
    """The results of the CPU-only run."""

    transfers: tuple[Copy, ...] | None
    """``None`` if the backend does not show them; then the counts are too."""

    placement: Mapping[str, tuple[str, ...]]
    """The devices on which each variable was computed: ``main/%s``."""

    clauses: tuple[Clause, ...]

    def _number(self, causes: frozenset[str]) -> int:
        assert self.transfers is not None, "the backend does not show its transfers"
        return tally(self.transfers, causes).number

    def _bytes(self, causes: frozenset[str]) -> int:
        assert self.transfers is not None, "the backend does not show its transfers"
        size = tally(self.transfers, causes).bytes
        assert size is not None, "the backend does not show the bytes of its transfers"
        return size

    @property
    def copies(self) -> int:
        """Device copies: without those of arguments and constants."""
        return self._number(COPIES)

    @property
    def moved(self) -> int:
        """Device copies, and arguments brought to their device."""
        return self._number(MOVED)

    @property
    def copied_bytes(self) -> int:
        return self._bytes(COPIES)

    @property
    def moved_bytes(self) -> int:
        return self._bytes(MOVED)

    def __str__(self) -> str:
        return "\n".join(f"{c.name} {c.status}: {c.detail}" for c in self.clauses)

    def __repr__(self) -> str:
        """What a failed assertion about the report needs to show."""
        if self.transfers is None:
            return "<report: transfers not shown>"
        counted = [t for t in self.transfers if t.cause in MOVED]
        listed = "; ".join(line.strip() for line in listing(counted).splitlines())
        return f"<report: {self.copies} copies, {self.moved} moved: {listed}>"


@final
@dataclass(frozen=True)
class Het:
    """Compiles, runs and checks programs on one backend."""

    backend: Backend
    devices: tuple[str, ...] = ()
    """The devices that were named; the first is the host."""

    host: str = field(default="cpu:0")

    @briefly
    def prepare(
        self,
        program: Source,
        *,
        on: Where,
        policy: str = "copy",
        default: str | None = None,
        place: str | Sequence[str] = (),
        entry: str = "main",
    ) -> Prepared:
        """Return ``program`` compiled for ``on`` and for the CPU alone.

        Args:
            program: Its text, a module, or an ONNX model.
            on: Devices for the roles.
            policy: What to do with a value wanted on two devices.
            default: The device for what nothing places; otherwise the host.
            place: Patterns of names, for placing imported models: ``layer.1/*=accel``.
            entry: The function that will be run.

        Raises:
            HetFailure: The program was refused.
            UsageError: A device is of a kind that the backend does not have, or there are more
                devices than roles, or fewer.
            MissingDevice: A device is not available.
            BackendCrash: The backend raised something other than a rejection.
        """
        read = program_of(program)
        roles = roles_of(read)
        binding = binding_of(roles, on)
        default = None if default is None else canonical(default)
        self._require((self.host, *([] if default is None else [default]), *binding.values()))
        places = (place,) if isinstance(place, str) else tuple(place)
        extra = {"place": places} if places else {}
        options = Options(policy, default or self.host, entry, extra)
        alone = Options(default=self.host, entry=entry)
        return Prepared(
            read,
            binding,
            options,
            self._compile(read, binding, options),
            self._compile(read, dict.fromkeys(roles or binding, self.host), alone),
        )

    @briefly
    def check(
        self,
        program: Source,
        args: Args,
        *,
        on: Where,
        expected: Value | None = None,
        entry: str = "main",
        policy: str = "copy",
        default: str | None = None,
        place: str | Sequence[str] = (),
    ) -> Report:
        """Run ``program`` CPU-only and placed, check both, and return what was seen.

        Values are judged against the oracle and the CPU-only run (and ``expected``), requested
        operators must run where they were requested, and a fully explicit program must make exactly
        the transfers that the definition says.

        Raises:
            HetFailure: A check does not hold, or the program was refused.
            UsageError: What was asked for makes no sense; says why.
            MissingDevice: A device is not available; says exactly why.
            BackendCrash: The backend raised something other than a rejection.
        """
        prepared = self.prepare(
            program, on=on, policy=policy, default=default, place=place, entry=entry
        )
        return self.check_prepared(prepared, args, entry=entry, expected=expected)

    @briefly
    def check_prepared(
        self,
        prepared: Prepared,
        args: Args,
        *,
        entry: str = "main",
        expected: Value | None = None,
    ) -> Report:
        """As `check`, for a program that was compiled by `prepare`."""
        module = prepared.program.module
        given = arguments_of(module, entry, args)
        fresh = copied(given)
        placed = _run(prepared.placed, entry, fresh, show(prepared.binding))
        kept = Kept.of(fresh, given, placed.results)
        alone = _run(prepared.cpu_only, entry, copied(given), "the CPU alone")
        situation = Situation(
            module=module,
            entry=entry,
            args=given,
            binding=prepared.binding,
            default=prepared.options.default or self.host,
            policy=prepared.options.policy,
            expect=Expect(),
            expected=expected,
            observation=placed,
            baseline=lambda: alone,
            numbers_hold=False,
            ownership=lambda: ownership(kept),
        )
        listed = Listed.of(self.backend)
        clauses = list(kept_claims(situation, claims_of(self.backend), listed))
        clauses += _checked(situation)
        if any(c.status is Status.FAILED for c in clauses):
            wrong = next(c for c in clauses if c.status is Status.FAILED)
            summary = f"{wrong.name}: {wrong.detail.splitlines()[0]}"
            raise HetFailure(_story(prepared, clauses, placed), summary)
        return Report(
            results=placed.results,
            cpu_only=alone.results,
            transfers=None if placed.copies is None else tuple(placed.copies),
            placement={name: tuple(sorted(d)) for name, d in situation.made_on.items()},
            clauses=tuple(clauses),
        )

    @cached_property
    def _listed(self) -> tuple[DeviceInfo, ...]:
        return devices_of(self.backend)

    def _require(self, devices: Iterable[str]) -> None:
        """Find out before anything is compiled whether the devices are there.

        Raises:
            UsageError: One is of a kind that the backend does not have.
            MissingDevice: One is not available.
        """
        kinds = tuple(dict.fromkeys(device.kind for device in self._listed))
        found = [info(self.backend.name, name, self._listed) for name in dict.fromkeys(devices)]
        for device in found:
            if device.kind not in kinds:
                listed = ", ".join(kinds) or "none"
                raise UsageError(
                    f"found device {device.name}, but {self.backend.name} has devices of kind "
                    f"{listed}"
                )
        absent = [f"{d.name}: {d.reason or 'not available'}" for d in found if not d.available]
        if absent:
            raise MissingDevice("; ".join(absent))

    def _compile(self, program: Program, binding: Binding, options: Options) -> Executable:
        try:
            return compiled(self.backend, program, binding, options)
        except ProtocolBreach as breach:
            raise HetFailure(f"{program.id}: {breach}") from None
        except Rejected as rejected:
            raise HetFailure(
                f"{program.id}: refused at {rejected.stage} for {show(binding)}:\n{rejected}",
                headline(rejected, rejected.code),
            ) from None


def _run(executable: Executable, entry: str, args: Sequence[Value], where: str) -> Observation:
    try:
        return observed(executable, entry, args)
    except ProtocolBreach as breach:
        raise HetFailure(f"the run on {where}: {breach}") from None
    except Rejected as rejected:
        message = f"the run on {where} ended in an error:\n{rejected}"
        raise HetFailure(message, headline(rejected, rejected.code)) from None


def _checked(situation: Situation) -> list[Clause]:
    """Return what all checks find; the CPU-only run has been made, so only the kit can raise."""
    try:
        return graded(situation, (clause for check in CHECKS for clause in check(situation)))
    except HettestError:
        raise
    except Exception as error:
        message = f"the kit itself raised {named(error)}; please report it"
        raise HetFailure(message) from error


def _story(prepared: Prepared, clauses: Sequence[Clause], observation: Observation) -> str:
    lines = [f"{prepared.program.id} on {show(prepared.binding)}"]
    for clause in clauses:
        first, *rest = clause.detail.split("\n")
        lines.append(f"  {clause.name} {clause.status}: {first}")
        lines += (f"    {line}" for line in rest)
    if isinstance(prepared.program, TextProgram):
        lines += source(prepared.program.text)
    lines += executed(observation)
    return "\n".join(lines)
