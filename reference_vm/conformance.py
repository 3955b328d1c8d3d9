"""The reference as a backend of `hettest`, like everybody else's.

Every run is watched closely: memory is poisoned when its value dies, and what kernels read and
computed is kept. That is the interpreter's work. ``reference_vm:executor=native`` has all programs
run by the native executor instead, which keeps no intermediates and times nothing;
``reference_vm:executor=interpreter`` has those interpreted too that are only timed.

Options of a program (`Options.extra`) turn watching off, and reach the compiler:

=================  ============================================================================
``intermediates``  keep what kernels read and computed (default true)
``checked``        poison dead memory (default true)
``precompute``     run once, while compiling, what depends on constants alone (default true)
``fuse``           fuse operators (default true)
``executor``       ``numpy`` or ``numba``
``place``          patterns of names, ``("layer.1/*=accel",)``
``split``          ``halves``, ``alternate`` or ``random:SEED``
``nominal``        sizes of symbols, for weighing copies
=================  ============================================================================

The compiler and the virtual machine are loaded with the first program: a test that only puts data
on a device does not wait for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, final

from hettest.backend import progress
from hettest.backend.protocol import (
    Copy,
    DeviceInfo,
    Execution,
    Memory,
    Mode,
    Observation,
    Options,
    Program,
    Purpose,
    Reading,
    Rejected,
    Timing,
)
from hettest.errors import UsageError
from reference_vm.devices.api import DeviceApi, DeviceDescription
from reference_vm.devices.catalog import KINDS, describe, open_device
from reference_vm.devices.sim import VARIANTS
from reference_vm.diagnostics import DiagnosticError
from reference_vm.types import HOST, DeviceName
from reference_vm.types.dtype import COMPUTED

if TYPE_CHECKING:
    from reference_vm.arrays import DeviceArray, Namespace
    from reference_vm.ir.nodes import Module
    from reference_vm.runtime.perturbation import Doubling
    from reference_vm.runtime.telling import Telling
    from reference_vm.runtime.trace import Record, Trace
    from reference_vm.session import Session

_INDICES: Final = 8
"""Logical devices that are listed of `cpu` and `sim`; more can be opened."""

CAPABILITIES: Final = frozenset(
    {
        *(f"device:{kind}" for kind in KINDS),
        *(f"dtype:{dtype}" for dtype in COMPUTED),
        "op:*",
        "construct:adt|closure|function|if|match|recursion|tuple|weights",
        "shape:symbolic|unknown-dim|unknown-rank|data-dependent",
        "policy:copy|replicate|error",
        "observe:placement|copies|bytes|memory|meter|perturbation",
        "observe:intermediates|profile",
        "input:hir",
        "diagnostics:line|codes|data",
        "semantics:pinned",
    }
)

EXECUTORS: Final = ("native", "interpreter")

_INTERPRETED: Final = frozenset({"observe:intermediates|profile"})
"""What only the interpreter can show."""


@final
class Backend:
    """Compiles and runs programs on the reference."""

    name: Final = "reference_vm"

    def __init__(self, executor: str = "") -> None:
        if executor not in ("", *EXECUTORS):
            expected = " or ".join(EXECUTORS)
            raise UsageError(
                f"backend reference_vm: found executor {executor}, expected {expected}"
            )
        self._executor = executor
        self.capabilities = CAPABILITIES - (_INTERPRETED if self._is_native else frozenset())

    @property
    def _is_native(self) -> bool:
        return self._executor == "native"

    def devices(self) -> Sequence[DeviceInfo]:
        return tuple(map(_info, _descriptions()))

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> Executable | TimedExecutable:
        """Return ``program`` loaded on its devices.

        Raises:
            Rejected: The text or the program is at fault.
        """
        from reference_vm import compiler
        from reference_vm.session import Session

        module = _module(program)
        extra = dict(options.extra)
        keep, checked = extra.pop("intermediates", True), extra.pop("checked", True)
        doubled = None if options.perturb is None else DeviceName.parse(options.perturb)
        if doubled is not None:
            extra |= {"precompute": False, "fuse": False}
        try:
            compiled = compiler.compile(
                module, device_map, policy=options.policy, default=options.default, **extra
            )
            interpreter = self._executor == "interpreter"
            if options.purpose is Purpose.TIME:
                return TimedExecutable(Session(compiled, trace=False, interpreter=interpreter))
            watched = options.purpose is Purpose.CHECK
            session = Session(compiled, checked=checked and watched, interpreter=interpreter)
            kept = keep and watched and not self._is_native
            return Executable(session, kept, doubled, profile=not self._is_native)
        except DiagnosticError as error:
            raise _rejected("compile", error) from error

    def open(self, device: str) -> DeviceAccess:
        """Return a device by itself."""
        return DeviceAccess(open_device(DeviceName.parse(device)))

    def notes(self) -> Sequence[str]:
        """Return what is worth knowing of this installation, for ``hettest doctor``."""
        from reference_vm.targets.catalog import target_for
        from reference_vm.targets.numpy import NUMPY

        target = target_for("cpu")
        if target is NUMPY:
            return ("kernels run in NumPy; for compiled ones: pip install 'hettest[numba]'",)
        return (f"kernels are compiled by {target.name}",)

    def close(self) -> None:
        """Nothing stays open: a program's devices go with it."""


def _module(program: Program) -> Module:
    from reference_vm.ir import verify
    from reference_vm.ir.nodes import Module
    from reference_vm.text import parse

    given = getattr(program, "__dict__", {}).get("module")
    try:
        module = given if isinstance(given, Module) else parse(program.text, program.id)
    except DiagnosticError as error:
        raise _rejected("parse", error) from error
    try:
        verify.verify(module)
    except DiagnosticError as error:
        raise _rejected("verify", error) from error
    return module


def _rejected(stage: str, error: DiagnosticError) -> Rejected:
    first = error.diagnostics[0]
    line = first.span.line if first.span is not None else None
    return Rejected(stage, first.code, line, str(error))


def _descriptions() -> Iterator[DeviceDescription]:
    for index in range(_INDICES):
        yield describe(DeviceName("cpu", index))
    for variant in (None, *VARIANTS):
        for index in range(_INDICES):
            yield describe(DeviceName("sim", index, variant))
    for kind in KINDS.values():
        if kind.name not in ("cpu", "sim"):
            yield from kind.discover()


def _info(device: DeviceDescription) -> DeviceInfo:
    name = device.name
    return DeviceInfo(
        str(name), name.kind, name.index, device.available, device.reason, device.memory_space
    )


@final
@dataclass(frozen=True)
class Executable:
    """A program in a session."""

    session: Session
    keep: bool
    doubled: DeviceName | None = None
    """The device whose floating results are doubled; nothing is kept of such a run."""

    profile: bool = True

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
        """Run an entry.

        Raises:
            Rejected: An argument does not fit, or the run ended in a located error.
        """
        from reference_vm.runtime.telling import Telling

        start, before = self.session.memory(), self._readings()
        observer = self._observer()
        try:
            results = self.session.run(
                entry, *args, keep=self.keep, profile=self.profile, observer=observer
            )
        except DiagnosticError as error:
            raise _rejected("run", error) from error
        end = self.session.memory()
        trace = self.session.trace
        return Observation(
            results=results,
            executions=tuple(executions(trace)),
            copies=tuple(copies(trace)),
            memory={
                name: Memory(start[name].current, after.current, after.peak)
                for name, after in end.items()
            },
            intermediates=observer.kept.found
            if isinstance(observer, Telling)
            else self.session.intermediates,
            profile=tuple(timings(trace)) if self.profile else None,
            metered=_since(before, self._readings()),
        )

    def _observer(self) -> Doubling | Telling | None:
        """Return who is to watch a run, if not the session's own observer."""
        from reference_vm.runtime.perturbation import Doubling
        from reference_vm.runtime.telling import Telling

        if self.doubled is not None:
            return Doubling(self.doubled)
        return Telling(progress.note) if self.keep and progress.is_open() else None

    def synchronize(self) -> None:
        self.session.synchronize()

    def _readings(self) -> Mapping[str, Reading]:
        return {name: _reading(device) for name, device in self.session.devices.items()}


def _reading(device: DeviceApi) -> Reading:
    """Return what a device's ledger says; the host's only of launches.

    What arrives on the host and what leaves it is already there: arguments and results.
    """
    ledger = device.ledger
    if device.name == HOST:
        return Reading(launches=ledger.launches)
    return Reading(
        launches=ledger.launches,
        copies_in=ledger.copies["in"],
        copies_out=ledger.copies["out"],
        bytes_in=ledger.bytes["in"],
        bytes_out=ledger.bytes["out"],
    )


def _since(before: Mapping[str, Reading], after: Mapping[str, Reading]) -> Mapping[str, Reading]:
    """Return what was counted between two readings of each device."""
    return {name: Reading(*_differences(before[name], now)) for name, now in after.items()}


def _differences(before: Reading, after: Reading) -> Iterator[int | None]:
    for old, new in zip(astuple(before), astuple(after), strict=True):
        yield None if new is None else new - old


@final
@dataclass(frozen=True)
class TimedExecutable:
    """A program in a session that notes nothing."""

    session: Session

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
        """Run an entry.

        Raises:
            Rejected: An argument does not fit, or the run ended in a located error.
        """
        try:
            return Observation(results=self.session.run(entry, *args))
        except DiagnosticError as error:
            raise _rejected("run", error) from error

    def synchronize(self) -> None:
        self.session.synchronize()


def timings(trace: Trace) -> Iterator[Timing]:
    """Yield where the time of a profiled run went: by device, kind of work and operator."""
    spent: dict[tuple[str, str, str], list[int]] = {}
    for record in trace:
        if record.duration is not None:
            kind = "copy" if record.kind == "copy" else "kernel"
            spent.setdefault((record.device, kind, record.op), []).append(record.duration)
    for (device, kind, op), durations in spent.items():
        yield Timing(device, sum(durations) * 1e-9, kind, op, len(durations))


def executions(trace: Trace) -> Iterator[Execution]:
    """Yield what ran, from the records of kernels and of host operators."""
    for record in trace:
        if record.kind in ("kernel", "library", "shape"):
            yield Execution(record.op, record.defines, record.device)


def copies(trace: Trace) -> Iterator[Copy]:
    """Yield the transfers of a run, from its records of copies."""
    for record in trace:
        if record.kind == "copy":
            yield _copy(record)


def _copy(record: Record) -> Copy:
    assert record.source is not None
    assert record.target is not None
    cause = record.cause
    return Copy(
        record.source,
        record.target,
        cause.value if cause else None,
        record.bytes,
        cause.kind if cause else None,
        cause.reader if cause else None,
    )


@final
@dataclass(frozen=True)
class DeviceAccess:
    """One device by itself, for tests that use it by hand."""

    device: DeviceApi

    def put(self, array: Any) -> DeviceArray:
        """Return an array of the device that holds a copy of ``array``."""
        return self.xp.asarray(array)

    def get(self, buffer: DeviceArray) -> Any:
        """Return a copy of the data in host memory.

        Raises:
            TypeError: It is no array of this device.
        """
        return self.xp.place(buffer).get()

    def synchronize(self) -> None:
        self.device.synchronize()

    @cached_property
    def xp(self) -> Namespace:
        """The array namespace, whose functions run on the device."""
        from reference_vm.arrays import Namespace

        return Namespace(self.device)
