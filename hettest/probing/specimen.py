"""The backend under check, and what the checks share: its devices, and runs of tiny programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from hettest.backend.calls import compiled, observed
from hettest.backend.discovery import devices_of, info, load
from hettest.backend.protocol import (
    Backend,
    DeviceInfo,
    Executable,
    Inexpressible,
    Observation,
    Options,
    Rejected,
)
from hettest.capability import missing
from hettest.case.requirements import of_program
from hettest.devicemap import canonical, first_of_each_kind, kind_of
from hettest.probing.examples import Example, dtype_for, operator_for
from hettest.probing.finding import Failed, NotApplicable, NotRun
from hettest.runner.program import TextProgram

if TYPE_CHECKING:
    from hettest.backend.protocol import Array, Value


@final
@dataclass
class Specimen:
    """A backend; everything is asked of it when it is first needed."""

    name: str
    """As the user named it."""

    asked: tuple[str, ...] = ()
    """The devices to check, in canonical form; empty for one of each kind that is available."""

    @cached_property
    def backend(self) -> Backend:
        """The backend, made once.

        Raises:
            UsageError: It cannot be loaded.
        """
        return load(self.name)

    @property
    def claims(self) -> frozenset[str]:
        return frozenset(self.backend.capabilities)

    @cached_property
    def listed(self) -> tuple[DeviceInfo, ...]:
        """The devices that it lists.

        Raises:
            BackendCrash: It raised something instead.
        """
        return devices_of(self.backend)

    @property
    def missing(self) -> dict[str, str]:
        """Exactly why each device is not there that is to be checked.

        Where none was asked for, one of each kind is that is listed and claimed.
        """
        names = self.asked or first_of_each_kind([canonical(one.name) for one in self.listed])
        there = {kind_of(canonical(one.name)) for one in self.listed if one.available}
        found = [info(self.backend.name, name, self.listed) for name in names]
        return {
            one.name: one.reason or "not available"
            for one in found
            if not one.available and (self.asked or one.kind not in there)
        }

    @property
    def absence(self) -> str:
        """The missing devices with their reasons, in one line."""
        return "; ".join(f"missing device {name}: {why}" for name, why in self.missing.items())

    @property
    def usable(self) -> tuple[str, ...]:
        """The devices to run on, of kind ``cpu`` first.

        Raises:
            NotRun: None of those that are to be checked is available.
            NotApplicable: None of those that are available is claimed.
        """
        there = [canonical(one.name) for one in self.listed if one.available]
        chosen = [d for d in self.asked if d in there] if self.asked else _one_of_each_kind(there)
        claimed = [d for d in chosen if not missing([f"device:{kind_of(d)}"], self.claims)]
        if not claimed and self.missing:
            raise NotRun(self.absence)
        if not claimed:
            raise NotApplicable("no device is available and claimed")
        return tuple(sorted(claimed, key=lambda device: kind_of(device) != "cpu"))

    def reads(self, form: str) -> bool:
        """Whether the backend reads programs as ``hir``, ``json`` or ``onnx``."""
        inputs = [claim for claim in self.claims if claim.startswith("input:")]
        if not inputs:
            return form == "hir"
        return not missing([f"input:{form}"], inputs)

    @property
    def dtype(self) -> str:
        """The dtype of the example programs.

        Raises:
            NotApplicable: None of the usual ones is claimed.
        """
        found = dtype_for(self.claims)
        if found is None:
            raise NotApplicable("no usual dtype is claimed, such as dtype:f32")
        return found

    @property
    def operator(self) -> str:
        """The operator of the example programs.

        Raises:
            NotApplicable: No simple one is claimed.
        """
        found = operator_for(self.claims, self.dtype)
        if found is None:
            raise NotApplicable(f"no simple operator is claimed, such as op:add:{self.dtype}")
        return found

    def compile(self, example: Example, devices: Sequence[str] | str) -> Executable:
        """Return an example ready to run.

        Args:
            example: The program.
            devices: The device of each of its roles, or the default device.

        Raises:
            NotApplicable: The program needs something that is not claimed.
            Failed: It was refused.
        """
        program = TextProgram(f"example {example.name}", example.text)
        self._require(example, program)
        default = devices if isinstance(devices, str) else devices[0]
        binding: Mapping[str, str] = {}
        if not isinstance(devices, str):
            binding = dict(zip(example.roles, devices, strict=True))
        try:
            return compiled(self.backend, program, binding, Options(default=default))
        except Rejected as refused:
            raise Failed(self._refused(example, refused, program)) from refused

    def _require(self, example: Example, program: TextProgram) -> None:
        lacking = missing(of_program(program.module), self.claims)
        if lacking:
            raise NotApplicable(f"{example.name} needs {', '.join(lacking)}")
        if self.reads("hir") or self.reads("json"):
            return
        try:
            program.onnx()
        except Inexpressible as error:
            raise NotApplicable(f"{example.name}: {error}") from error

    def _refused(self, example: Example, refused: Rejected, program: TextProgram) -> str:
        needed = ", ".join(of_program(program.module))
        return (
            f"{example.name} is refused at {refused.stage}: {refused}\n"
            f"it needs no more than what is claimed: {needed}\n{example.text.rstrip()}"
        )

    def run(self, executable: Executable, example: Example, arrays: Sequence[Array]) -> Observation:
        """Return what a run of an example shows.

        Raises:
            Failed: The run ended in an error.
        """
        args: Sequence[Value] = (tuple(arrays),) if example.tuple_argument else tuple(arrays)
        try:
            return observed(executable, "main", args)
        except Rejected as refused:
            raise Failed(
                f"{example.name} ended in an error at {refused.stage}: {refused}"
            ) from None

    def first_run(self, example: Example, devices: Sequence[str] | str) -> Observation:
        """Compile an example, and run it once on fresh arguments."""
        executable = self.compile(example, devices)
        return self.run(executable, example, example.arrays())


def _one_of_each_kind(devices: Sequence[str]) -> Sequence[str]:
    """Return the first device of each kind; of a single kind the first two."""
    chosen = first_of_each_kind(devices)
    return chosen if len(chosen) > 1 else devices[:2]


def result_leaves(value: Any) -> list[Any]:
    """Return the arrays of a result, nested tuples flattened."""
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in result_leaves(item)]
    return [value]
