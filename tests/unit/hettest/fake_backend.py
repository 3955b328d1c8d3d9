"""A small backend for testing the kit: straight-line programs on devices that are only names.

It follows the placement rules where nothing is left to a planner, and can be told to do one thing
wrong: see `Fault`. It knows ``cpu:0``, ``cpu:1``, ``sim:0`` and ``sim:1``; ``cuda:0`` is missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import numpy as np

from hettest.backend.protocol import (
    Copy,
    DeviceInfo,
    Execution,
    Memory,
    Mode,
    Observation,
    Options,
    Program,
    Reading,
    Rejected,
)
from hettest.language import DiagnosticError, Module, Trait, nodes, numpy_dtype, operators, parse
from reference_vm.ops.typing import fill_attrs

HOST = "cpu:0"
MISSING = "no driver: libfake.so.1 was not found"


class Fault(Enum):
    """One thing to do wrong."""

    NONE = auto()
    WRONG_VALUE = auto()
    WRONG_DEVICE = auto()
    COPY_TWICE = auto()
    DROP_COPY = auto()
    CRASH = auto()
    ACCEPT_ALL = auto()
    NO_OBSERVATION = auto()
    FALL_BACK = auto()
    LEAK = auto()
    SLOW = auto()


@dataclass
class Backend:
    fault: Fault = Fault.NONE
    name: str = "fake"
    claims: tuple[str, ...] = (
        *("op:*", "dtype:*", "device:*", "construct:tuple", "shape:symbolic", "policy:*"),
        *("observe:placement", "observe:copies", "observe:bytes"),
        *("diagnostics:line", "diagnostics:codes", "input:hir"),
    )
    computes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """What operators compute, where it is not the language's own way."""

    @property
    def capabilities(self) -> frozenset[str]:
        if self.fault is Fault.NO_OBSERVATION:
            return frozenset(c for c in self.claims if not c.startswith("observe:"))
        if self.fault is Fault.FALL_BACK:
            return frozenset((*self.claims, "observe:meter"))
        if self.fault is Fault.LEAK:
            return frozenset((*self.claims, "observe:memory"))
        return frozenset(self.claims)

    def devices(self) -> Sequence[DeviceInfo]:
        found = [DeviceInfo(f"{kind}:{i}", kind, i) for kind in ("cpu", "sim") for i in (0, 1)]
        return [*found, DeviceInfo("cuda:0", "cuda", 0, available=False, reason=MISSING)]

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> Executable:
        try:
            module = parse(program.text, program.id)
        except DiagnosticError as error:
            if self.fault is Fault.ACCEPT_ALL:
                return Executable(Module(), {}, options, self.fault, {})
            found = error.diagnostics[0]
            line = found.span.line if found.span else None
            raise Rejected("parse", found.code, line, str(found)) from None
        return Executable(module, dict(device_map), options, self.fault, self.computes)

    def close(self) -> None:
        pass


@dataclass
class Executable:
    module: Module
    device_map: Mapping[str, str]
    options: Options
    fault: Fault
    computes: Mapping[str, Callable[..., Any]]

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
        if self.fault is Fault.CRASH:
            raise RuntimeError("illegal instruction")
        return _Run(self, entry).run(args)


@dataclass
class _Run:
    executable: Executable
    entry: str
    values: dict[nodes.Var, Any] = field(default_factory=dict)
    places: dict[nodes.Var, set[str]] = field(default_factory=dict)
    homes: dict[nodes.Var, str] = field(default_factory=dict)
    params: set[nodes.Var] = field(default_factory=set)
    executions: list[Execution] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)

    def run(self, args: Sequence[Any]) -> Observation:
        if self.executable.fault is Fault.SLOW:
            time.sleep(0.05)
        function = self.executable.module.by_name[self.entry]
        for param, arg in zip(function.params, args, strict=True):
            self.values[param] = arg
            self._arrive(function, param)
        for binding in function.body.bindings():
            self._execute(binding)
        result = function.body.result
        placed = getattr(function.result, "vdevice", None)
        if placed is not None:
            self._bring(result, self._device(placed), "result")
        hidden = self.executable.fault is Fault.NO_OBSERVATION
        return Observation(
            results=self._result(self.values[result]),
            executions=None if hidden else self.executions,
            copies=None if hidden else self._reported(),
            memory=self._memory(),
            metered=self._metered(),
        )

    def _metered(self) -> Mapping[str, Reading] | None:
        """Return what a meter counts where everything really runs on the host, if it does."""
        if self.executable.fault is not Fault.FALL_BACK:
            return None
        idle = dict.fromkeys(self.executable.device_map.values(), Reading(0, 0, 0, 0, 0))
        return {**idle, HOST: Reading(launches=len(self.executions))}

    def _memory(self) -> Mapping[str, Memory] | None:
        if self.executable.fault is not Fault.LEAK:
            return None
        left = Memory(start=0, end=16, peak=16)
        return dict.fromkeys((HOST, *self.executable.device_map.values()), left)

    def _result(self, value: Any) -> Any:
        if self.executable.fault is Fault.WRONG_VALUE and not isinstance(value, tuple):
            return value + value.dtype.type(1)
        return value

    def _reported(self) -> list[Copy]:
        copied = [c for c in self.copies if c.cause == "read"]
        if self.executable.fault is Fault.COPY_TWICE and copied:
            return [*self.copies, copied[0]]
        if self.executable.fault is Fault.DROP_COPY and copied:
            return [c for c in self.copies if c is not copied[0]]
        return self.copies

    def _device(self, role: Any) -> str:
        return self.executable.device_map.get(role.role, HOST)

    def _where(self, binding: nodes.Binding) -> str:
        if binding.request is None:
            return self.executable.options.default or HOST
        device = self._device(binding.request)
        return HOST if self.executable.fault is Fault.WRONG_DEVICE else device

    def _arrive(self, function: nodes.Function, param: nodes.Var) -> None:
        self.params.add(param)
        readers = [
            self._where(b)
            for b in function.body.bindings()
            if isinstance(b.value, nodes.Call) and param in b.value.args
        ]
        home = HOST if HOST in readers or not readers else readers[0]
        self.homes[param], self.places[param] = home, {home}
        wanted = {home} if self.executable.options.policy != "replicate" else {home, *readers}
        self.places[param] |= wanted
        for device in sorted(wanted - {HOST}):
            self._note(param, HOST, device, "argument")

    def _note(self, var: nodes.Var, source: str, target: str, cause: str) -> None:
        size = int(self.values[var].nbytes)
        self.copies.append(Copy(source, target, f"{self.entry}/%{var.name}", size, cause))

    def _bring(self, var: nodes.Var, device: str, cause: str) -> None:
        if device not in self.places[var]:
            self.places[var].add(device)
            self._note(var, self.homes[var], device, cause)

    def _execute(self, binding: nodes.Binding) -> None:
        var, value = binding.var, binding.value
        if isinstance(value, nodes.Constant):
            array = np.frombuffer(value.data, numpy_dtype(value.dtype.name)).reshape(value.shape)
            self.values[var], self.places[var], self.homes[var] = array, _Anywhere(), HOST
            return
        if not isinstance(value, nodes.Call):
            raise Rejected("compile", "unsupported", None, f"{type(value).__name__} is too much")
        op, device = operators()[value.op], self._where(binding)
        operands = [a for a in value.args if isinstance(a, nodes.Var)]
        if op.has(Trait.MOVES_DATA):
            self._note(operands[0], self.homes[operands[0]], device, "explicit")
        else:
            for operand in operands:
                self._bring(operand, device, "read")
            self.executions.append(Execution(op.name, (f"{self.entry}/%{var.name}",), device))
        attrs = fill_attrs(op, value.attrs)
        compute = self.executable.computes.get(op.name, op.compute)
        self.values[var] = compute(np, *(self.values[a] for a in operands), **attrs)
        if device == self.executable.options.perturb and not op.has(Trait.MOVES_DATA):
            self.values[var] = self.values[var] * self.values[var].dtype.type(2)
        self.places[var], self.homes[var] = {device}, device


class _Anywhere(set[str]):
    def __contains__(self, device: object) -> bool:
        return True


def wrong_value() -> Backend:
    return Backend(Fault.WRONG_VALUE)


def wrong_device() -> Backend:
    return Backend(Fault.WRONG_DEVICE)


def copy_twice() -> Backend:
    return Backend(Fault.COPY_TWICE)


def drop_copy() -> Backend:
    return Backend(Fault.DROP_COPY)


def crash() -> Backend:
    return Backend(Fault.CRASH)


def accept_all() -> Backend:
    return Backend(Fault.ACCEPT_ALL)


def no_observation() -> Backend:
    return Backend(Fault.NO_OBSERVATION)


def few_words() -> Backend:
    return Backend(claims=("op:add", "dtype:f32", "device:cpu", "device:sim", "input:hir"))


def without_multiply() -> Backend:
    """Return the backend with one operator taken out of what it declares."""
    return Backend(claims=(*Backend.claims, "-op:multiply"))


def without_add() -> Backend:
    """Return the backend with another one taken out."""
    return Backend(claims=(*Backend.claims, "-op:add"))


def without_placement() -> Backend:
    """Return the backend without the word that lets one see where operators ran."""
    return Backend(claims=(*Backend.claims, "-observe:placement"))


def falls_back() -> Backend:
    return Backend(Fault.FALL_BACK)


def leaks() -> Backend:
    return Backend(Fault.LEAK)


def slow() -> Backend:
    return Backend(Fault.SLOW)
