"""Runs one item: requirements, compilation, run, checks, outcome.

Exactly one outcome comes of it. Unsupported is decided before the implementation is called, from
what it claims; whatever it raises afterwards, other than a rejection, is a crash.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, final

from hettest.backend.calls import claims_of, compiled, observed
from hettest.backend.guard import frames_of, named
from hettest.backend.nesting import copied
from hettest.backend.ownership import Kept, Ownership, TellsOwnership, ownership
from hettest.backend.protocol import (
    Backend,
    Executable,
    Inexpressible,
    Observation,
    Options,
    Rejected,
)
from hettest.capability import OBSERVATIONS, PINNED, missing
from hettest.case.expansion import Item
from hettest.case.model import Case, Run
from hettest.errors import BackendCrash, CaseError, ProtocolBreach
from hettest.expect import diagnostics
from hettest.expect.catalog import CHECKS
from hettest.expect.claims import check as kept_claims
from hettest.expect.evidence import graded
from hettest.expect.named import Listed
from hettest.expect.situation import Situation
from hettest.language import Module
from hettest.outcome import Clause, Outcome, Record, Status, headline, worst
from hettest.runner.cases import CaseData, arguments, literal
from hettest.runner.program import TextProgram
from hettest.runner.seen import seen
from hettest.runner.story import failure, file_of, replay

if TYPE_CHECKING:
    from hettest.backend.protocol import Value


PLACED = 3
"""The level from which cases place operators."""


def _digest(args: Sequence[Value]) -> str:
    """Return what tells these arguments from others."""
    digest = hashlib.blake2b(digest_size=16)
    stack: list[Any] = list(args)
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            digest.update(f"({len(top)}".encode())
            stack.extend(top)
        elif isinstance(top, str):
            digest.update(top.encode())
        else:
            digest.update(f"{top.dtype}{top.shape}".encode())
            digest.update(top.tobytes())
    return digest.hexdigest()


@final
@dataclass
class Baselines:
    """CPU-only runs, each made once: by program, run, default device and arguments.

    Variants of a sweep may have one program and differ in what they give it.
    """

    made: dict[tuple[int, str, str, str], Observation | None] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Environment:
    """What all items of a session share."""

    backend: Backend
    backend_name: str
    """As the user named it, for replay lines."""

    devices: Sequence[str]
    unavailable: Mapping[str, str]
    """Why, for each device that was asked for and is missing."""

    chosen_by: Sequence[str] = ()
    """What else chose the items, as options of ``hettest run``, for replay lines."""

    seed: int = 0
    """For the judge's evaluations with random rounding."""

    data: CaseData = field(default_factory=CaseData)
    baselines: Baselines = field(default_factory=Baselines)

    @cached_property
    def listed(self) -> Listed:
        """The devices that the backend lists; raises `BackendCrash` if it cannot be asked."""
        return Listed.of(self.backend)

    @cached_property
    def _claimed(self) -> frozenset[str]:
        return claims_of(self.backend)

    @property
    def claims(self) -> frozenset[str]:
        """What the backend claims, from the first item to the last.

        Raises:
            BackendCrash: It cannot be asked.
            ProtocolBreach: It claims something else by now, so that no outcome could be trusted.
        """
        now = claims_of(self.backend)
        changed = sorted(now ^ self._claimed)
        if changed:
            raise ProtocolBreach(f"its capabilities changed during the run: {', '.join(changed)}")
        return self._claimed


def run_item(item: Item, environment: Environment) -> Record:
    """Return how ``item`` ended on the environment's backend."""
    start = time.perf_counter()
    run = _Run(item, environment)
    ended = run.end()
    seconds = time.perf_counter() - start
    text = "" if ended.outcome in (Outcome.PASSED, Outcome.UNSUPPORTED) else ended.text
    record = unjudged(item, ended.outcome, ended.reason)
    return replace(
        record,
        clauses=ended.clauses,
        stage=ended.stage,
        seconds=seconds,
        text=text,
        requires=environment.data.requires(item),
        lacks=ended.lacks,
        seen=seen(item, run.observation, environment.data.module(item.case)),
    )


def unjudged(item: Item, outcome: Outcome, reason: str) -> Record:
    """Return the record of an item that was not judged, such as one whose device is missing."""
    case = item.case
    return Record(
        item.id,
        outcome,
        reason,
        case.level,
        case=case.id,
        proves=case.clauses,
        devices=item.devices,
    )


@final
@dataclass(frozen=True)
class _End:
    outcome: Outcome
    reason: str = ""
    clauses: tuple[Clause, ...] = ()
    text: str = ""
    lacks: tuple[str, ...] = ()
    stage: str = ""


@final
@dataclass
class _Run:
    item: Item
    environment: Environment
    observation: Observation | None = None
    refused_at: str = ""
    """The stage at which a program that should run was refused."""

    def end(self) -> _End:
        absent = [d for d in self.item.devices if d in self.environment.unavailable]
        if absent:
            reasons = (f"{d}: {self.environment.unavailable[d]}" for d in absent)
            return _End(Outcome.NOT_RUN, "; ".join(reasons))
        try:
            lacking = self._lacking()
            if lacking:
                return _End(
                    Outcome.UNSUPPORTED, f"not claimed: {', '.join(lacking)}", lacks=lacking
                )
            return self._judged(tuple(self._clauses()))
        except CaseError as error:
            told = str(error).replace(str(self.item.case.path), file_of(self.item.case))
            return self._story(Outcome.FAILED, f"the case is at fault: {told}", stage="case")
        except Rejected as error:
            first = next(iter(str(error).splitlines()), error.stage)
            return self._story(Outcome.FAILED, f"the CPU-only run: {first}", stage=_stage(error))
        except ProtocolBreach as error:
            return self._story(Outcome.FAILED, f"backend: {error}", stage="backend")
        except BackendCrash as error:
            cause = error.__cause__ or error
            reason = error.reason or named(cause)
            return self._raised(Outcome.CRASHED, reason, error.frames or cause, stage="crash")
        except Exception as error:  # all calls into the implementation are guarded: it is our own
            reason = f"the kit itself raised {named(error)}; please report it"
            return self._raised(Outcome.FAILED, reason, error, stage="kit")
        except (SystemExit, GeneratorExit) as error:  # what a backend returned may do anything
            return self._raised(Outcome.CRASHED, named(error), error, stage="crash")

    def _lacking(self) -> tuple[str, ...]:
        claims = self.environment.claims
        required = self.environment.data.requires(self.item)
        lacking = tuple(w for w in missing(required, claims) if w not in OBSERVATIONS)
        if lacking or _reads_text(claims):
            return lacking
        return self._inexpressible()

    def _inexpressible(self) -> tuple[str, ...]:
        """Return why a backend that reads no text cannot be given the program."""
        if self.item.case.refused or self.environment.data.module(self.item.case) is None:
            return ("input:hir (what is to be refused is the text)",)
        if not missing(["input:json"], self.environment.claims):
            return ()
        try:
            self._program().onnx(self._entry)
        except Inexpressible as error:
            return (f"input:hir ({error})",)
        return ()

    @property
    def _entry(self) -> str:
        return "main" if self.item.run is None else self.item.run.entry

    def _program(self) -> TextProgram:
        return self.environment.data.program(self.item.case)

    def _clauses(self) -> Iterator[Clause]:
        item, case = self.item, self.item.case
        claims = self.environment.claims
        executable, rejected = self._compile()
        if case.refused:
            yield diagnostics.refusal(case, rejected, claims)
            return
        if rejected is not None or executable is None:
            assert rejected is not None
            yield self._unexpected(rejected)
            return
        if item.run is None:
            yield Clause("diagnostics", Status.PROVEN, "accepted", case.program_line)
            return
        yield from self._ran(executable)

    def _compile(self) -> tuple[Executable | None, Rejected | None]:
        options = Options(self.item.policy, self.item.default, self._entry)
        try:
            backend = self.environment.backend
            return compiled(backend, self._program(), self.item.binding, options), None
        except Rejected as rejected:
            return None, rejected

    def _ran(self, executable: Executable) -> Iterator[Clause]:
        item, case, run = self.item, self.item.case, self.item.run
        module = self.environment.data.module(case)
        assert run is not None
        if module is None:
            raise CaseError([])
        args = arguments(case, run, module)
        claims = self.environment.claims
        rejected: Rejected | None = None
        before, kept = None, None
        try:
            before = _run_before(executable, case, run, module)
            self.observation, kept = _watched(executable, run.entry, args)
        except Rejected as found:
            rejected = found
        if run.error is not None:
            yield diagnostics.data_error(case, run.error, rejected, claims)
            return
        if rejected is not None or self.observation is None:
            assert rejected is not None
            yield self._unexpected(rejected)
            return
        situation = Situation(
            module=module,
            entry=run.entry,
            args=args,
            binding=item.binding,
            default=item.default,
            policy=item.policy,
            expect=case.expect,
            expected=literal(case, run),
            observation=self.observation,
            baseline=self._baseline(run.entry, run.name, args),
            numbers_hold=item.is_straight,
            ownership=partial(_ownership, executable, kept, before),
            seed=self.environment.seed,
            doubled=self._doubled(run, args),
        )
        yield from kept_claims(situation, claims, self.environment.listed)
        clauses = graded(situation, (clause for check in CHECKS for clause in check(situation)))
        yield from _advised(clauses, run.advisory, claims)

    def _unexpected(self, rejected: Rejected) -> Clause:
        self.refused_at = _stage(rejected)
        return diagnostics.unexpected(self.item.case, rejected)

    def _doubled(self, run: Run, args: Sequence[Value]) -> Callable[[str], Observation] | None:
        """Return what runs the item with one device's results doubled, where that is to be done.

        It costs a compilation and a run for each device, so of each case the first run is chosen.
        """
        item, backend = self.item, self.environment.backend
        chosen = (
            item.case.level >= PLACED
            and len(set(item.devices)) > 1
            and item.policy == "copy"
            and run.name == item.case.runs[0].name
        )
        if not chosen or missing(["observe:perturbation"], self.environment.claims):
            return None

        def observe(device: str) -> Observation:
            options = Options(item.policy, item.default, run.entry, perturb=device)
            executable = compiled(backend, self._program(), item.binding, options)
            return observed(executable, run.entry, copied(args))

        return observe

    def _baseline(
        self, entry: str, run: str, args: Sequence[Value]
    ) -> Callable[[], Observation | None]:
        program, host = self._program(), self.item.host
        binding = dict.fromkeys(self.item.binding, host)
        made = self.environment.baselines.made
        key = (id(program), run, host, _digest(args))

        def observe() -> Observation | None:
            if set(self.item.devices) == {host}:
                return None
            if key not in made:
                options = Options(default=host, entry=entry)
                executable = compiled(self.environment.backend, program, binding, options)
                made[key] = observed(executable, entry, copied(args))
            return made[key]

        return observe

    def _judged(self, clauses: tuple[Clause, ...]) -> _End:
        status = worst(clauses)
        if status is Status.PROVEN:
            return _End(Outcome.PASSED, clauses=clauses)
        found = [c for c in clauses if c.status is status]
        if status is Status.UNPROVEN:
            words = tuple(dict.fromkeys(c.word or c.name for c in found))
            reason = f"not claimed: {', '.join(words)}"
            return _End(Outcome.UNSUPPORTED, reason, clauses, lacks=words)
        return self._story(Outcome.FAILED, headline(found), clauses, self.refused_at)

    def _raised(
        self, outcome: Outcome, reason: str, error: BaseException | str, stage: str
    ) -> _End:
        frames = error if isinstance(error, str) else frames_of(error)
        end = self._story(outcome, reason, stage=stage)
        return replace(end, text=f"{end.text}\n{frames}")

    def _story(
        self, outcome: Outcome, reason: str, clauses: tuple[Clause, ...] = (), stage: str = ""
    ) -> _End:
        environment = self.environment
        again = replay(
            self.item.id, environment.devices, environment.backend_name, environment.chosen_by
        )
        text = failure(self.item, clauses, self.observation, again)
        if not clauses:
            text = text.replace("\n", f"\n  {outcome}: {reason}\n", 1)
        return _End(outcome, reason, clauses, text, stage=stage)


@final
@dataclass(frozen=True)
class _Before:
    """The run that was made before the one that is judged."""

    kept: Kept | None
    """Its arrays, if they are in this process."""


def _stage(rejected: Rejected) -> str:
    """Return ``run``, or ``compile`` for a refusal at any stage before."""
    return "compile" if rejected.stage in diagnostics.BEFORE_RUN else "run"


def _watched(
    executable: Executable, entry: str, args: Sequence[Value]
) -> tuple[Observation, Kept | None]:
    """Make a run on fresh arrays; return what it showed, and those arrays if they are here."""
    fresh = copied(args)
    seen = observed(executable, entry, fresh)
    is_here = not isinstance(executable, TellsOwnership)
    return seen, Kept.of(fresh, args, seen.results) if is_here else None


def _ownership(executable: Executable, kept: Kept | None, before: _Before | None) -> Ownership:
    """Return what became by now of what belongs to the caller."""
    if isinstance(executable, TellsOwnership):
        return executable.ownership(after_another=before is not None)
    assert kept is not None
    return ownership(kept, None if before is None else before.kept)


def _run_before(executable: Executable, case: Case, run: Run, module: Module) -> _Before | None:
    """Make the run that the case wants before ``run``, and return what came of it, if anything.

    An error that it is to end in is well.
    """
    before = case.run_before(run)
    if before is None:
        return None
    try:
        _, kept = _watched(executable, before.entry, arguments(case, before, module))
    except Rejected:
        if before.error is None:
            raise
        return None
    return _Before(kept)


def _advised(
    clauses: Sequence[Clause], pin: str | None, claims: frozenset[str]
) -> Iterator[Clause]:
    """Yield the clauses; wrong values are advisory where only a pin of ours says otherwise."""
    binding = pin is None or not missing([PINNED], claims)
    for clause in clauses:
        wrong = clause.name == "values" and clause.status is Status.FAILED
        if binding or not wrong or _is_misshapen(clause):
            yield clause
        else:
            detail = f"{clause.detail}\nadvisory, since only we pin it: {pin}"
            yield replace(clause, status=Status.ADVISORY, detail=detail)


def _is_misshapen(clause: Clause) -> bool:
    """Whether results are of another form: no pin of ours is needed to say how many there are."""
    return any(m.name == "form" and m.status == "fails" for m in clause.measures)


def _reads_text(claims: frozenset[str]) -> bool:
    """Whether the backend reads the text form: it says so, or says nothing about its input."""
    inputs = [c for c in claims if c.startswith("input:")]
    return not inputs or not missing(["input:hir"], claims)
