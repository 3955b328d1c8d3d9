"""The page's own small backend, each time with one thing that `hettest backend check` must find."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from hettest.backend import (
    Copy,
    DeviceInfo,
    Execution,
    Memory,
    Mode,
    Observation,
    Options,
    Program,
    Rejected,
)

CLAIMS = ("input:json", "device:cpu|npu", "dtype:f32", "op:add", "construct:tuple")
SEEN = (*CLAIMS, "observe:placement|copies|bytes|memory")


class Backend:
    """A well-behaved backend of one operator, which the others spoil."""

    name = "unruly"
    capabilities = frozenset(CLAIMS)

    def devices(self) -> Sequence[Any]:
        return [DeviceInfo("cpu:0", "cpu", 0), DeviceInfo("npu:0", "npu", 0)]

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        return Executable(program.json()["functions"][0], dict(device_map), options, self)

    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        return results

    def seen(self, observation: Observation) -> Observation:
        return observation

    def close(self) -> None:
        pass


class Executable:
    def __init__(
        self, function: Any, binding: Mapping[str, str], options: Options, backend: Backend
    ) -> None:
        self.function, self.binding, self.backend = function, binding, backend
        self.default = options.default or "cpu:0"

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Any:
        names = [param["name"] for param in self.function["params"]]
        values: dict[str, Any] = dict(zip(names, args, strict=True))
        executions, copies, place = [], [], dict.fromkeys(names, "cpu:0")
        for binding in self.function["body"]["bindings"]:
            read = [values[name] for name in binding["args"]]
            device = self.binding.get(binding["device"], self.default)
            if binding["kind"] == "call":
                for name in dict.fromkeys(binding["args"]):
                    if place[name] != device:
                        size = values[name].nbytes
                        copies.append(Copy(place[name], device, f"main/%{name}", size))
                        place[name] = device
                value: Any = np.asarray(np.add(*read))
                executions.append(Execution("add", (f"main/%{binding['name']}",), device))
            else:
                value = tuple(read) if binding["kind"] == "tuple" else read[0][binding["index"]]
            values[binding["name"]], place[binding["name"]] = value, device
        result = values[self.function["body"]["result"]]
        fresh = tuple(r.copy() for r in result) if isinstance(result, tuple) else result.copy()
        results = self.backend.spoil(fresh, args)
        if "observe:placement|copies|bytes|memory" not in self.backend.capabilities:
            return self.backend.seen(Observation(results=results))
        memory = {device: Memory(0, 0, 64) for device in ("cpu:0", "npu:0")}
        return self.backend.seen(
            Observation(results=results, executions=executions, copies=copies, memory=memory)
        )


ABSENT = "no driver: libnpu.so.1 was not found"


class AcceleratorGone(Backend):
    def devices(self) -> Sequence[Any]:
        return [
            DeviceInfo("cpu:0", "cpu", 0),
            DeviceInfo("npu:0", "npu", 0, available=False, reason=ABSENT),
        ]


class SeenWithoutAccelerator(AcceleratorGone):
    capabilities = frozenset(SEEN)


class AllGone(Backend):
    def devices(self) -> Sequence[Any]:
        return [
            DeviceInfo(f"{kind}:0", kind, 0, available=False, reason=ABSENT)
            for kind in ("cpu", "npu")
        ]


class VanishesInRun(Backend):
    """Its accelerator is there when it is asked for, and gone when it is used."""

    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        raise OSError(ABSENT)


class HangsWhenMade(Backend):
    def __init__(self) -> None:
        time.sleep(600)


class HangsInDevices(Backend):
    def devices(self) -> Sequence[Any]:
        time.sleep(600)
        return []


class HangsInRun(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        while True:
            time.sleep(1)


class ExitsInRun(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        os._exit(3)


class DiesOfScalars(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        if not isinstance(results, tuple) and results.shape == ():
            os.kill(os.getpid(), signal.SIGSEGV)
        return results


class ExitsWhenMade(Backend):
    def __init__(self) -> None:
        os._exit(0)


class RaisesInDevices(Backend):
    def devices(self) -> Sequence[Any]:
        raise OSError("libnpu.so.1 is too old")


class RaisesInName(Backend):
    @property
    def name(self) -> str:  # type: ignore[override]
        raise OSError("nameless")


class PrintsGarbage(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        print("launching \x1b[31mkernel\x1b[0m")
        os.write(1, b"\xff\xfe raw bytes\n")
        return results


class OneResultMore(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        return (*results, results[0]) if isinstance(results, tuple) else results


class TupleOfOne(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        return results if isinstance(results, tuple) or len(args) < 2 else (results,)


class WrongDtype(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        return (
            results if isinstance(results, tuple) or len(args) < 2 else results.astype(np.float64)
        )


class WrongShape(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        return results if isinstance(results, tuple) else results.reshape(-1)


class ReturnsScalars(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        return results if isinstance(results, tuple) or results.shape else results[()]


class ReturnsLists(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        return results.tolist()


class WritesToItsArguments(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        if not isinstance(args[0], tuple):
            args[0].fill(7)
        return results


class ReturnsItsArgument(Backend):
    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        return args[0] if len(args) == 1 and not isinstance(args[0], tuple) else results


class KeepsReferences(Backend):
    kept: ClassVar[list[Any]] = []

    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        self.kept[:] = args
        return results


class ReusesItsResult(Backend):
    made: ClassVar[dict[Any, Any]] = {}

    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        if isinstance(results, tuple):
            return results
        kept = self.made.setdefault(results.shape, results)
        np.copyto(kept, results)
        return kept


class Remembers(Backend):
    runs = 0

    def spoil(self, results: Any, args: Sequence[Any]) -> Any:
        self.runs += 1
        return (
            results if isinstance(results, tuple) else np.asarray(results + np.float32(self.runs))
        )


class Shows(Backend):
    """Well-behaved too, with observations."""

    capabilities = frozenset(SEEN)


class Leaks(Shows):
    used = 0

    def seen(self, observation: Observation) -> Observation:
        self.used += 64
        memory = {"cpu:0": Memory(self.used - 64, self.used, self.used), "npu:0": Memory(0, 0, 0)}
        return Observation(
            results=observation.results,
            executions=observation.executions,
            copies=observation.copies,
            memory=memory,
        )


class ClaimsWhatItHides(Shows):
    def seen(self, observation: Observation) -> Observation:
        return Observation(results=observation.results, executions=observation.executions)


class ShowsWhatItDoesNotClaim(Backend):
    def seen(self, observation: Observation) -> Observation:
        return Observation(results=observation.results, copies=[])


class WrongDevice(Shows):
    def seen(self, observation: Observation) -> Observation:
        made = [Execution(e.op, e.defines, "cpu:0") for e in observation.executions or ()]
        return Observation(
            results=observation.results,
            executions=made,
            copies=observation.copies,
            memory=observation.memory,
        )


class MissingCopy(Shows):
    def seen(self, observation: Observation) -> Observation:
        return Observation(
            results=observation.results,
            executions=observation.executions,
            copies=[],
            memory=observation.memory,
        )


class MissingSharedCopy(Shows):
    """Takes an argument that one device has read to be on the other one too."""

    def seen(self, observation: Observation) -> Observation:
        copies = [copy for copy in observation.copies or () if copy.value != "main/%y"]
        return replace(observation, copies=copies)


class OneDtype(Shows):
    capabilities = frozenset({*SEEN, "op:add:f32"} - {"op:add"})


class UnknownWords(Backend):
    capabilities = frozenset(
        {"device:cpu|npu", "dtype:f33", "op:addd", "observ:copies", "input:json"}
    )


class ClaimsTooMuch(Backend):
    capabilities = frozenset({*CLAIMS, "op:*"})

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        raise Rejected("compile", message="no kernel for add")


class ReadsTextAndAcceptsAll(Backend):
    capabilities = frozenset({*CLAIMS, "input:hir"})

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        if "nowhere" in program.text:
            return self
        return super().compile(program, device_map, options)

    def run(self, entry: str, args: Sequence[Any]) -> None:
        pass


class RefusesAtNoStage(ReadsTextAndAcceptsAll):
    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        if "nowhere" in program.text or "exp(%x" in program.text:
            raise Rejected("early")
        return super().compile(program, device_map, options)


class ClosesOnce(Backend):
    is_open = True

    def close(self) -> None:
        if not self.is_open:
            raise RuntimeError("closed already")
        self.is_open = False


class SecondListDiffers(Backend):
    calls = 0

    def devices(self) -> Sequence[Any]:
        self.calls += 1
        return [*super().devices(), DeviceInfo(f"npu:{self.calls}", "npu", self.calls)]


class OddDevices(Backend):
    def devices(self) -> Sequence[Any]:
        return [
            DeviceInfo("NPU 0", "npu", 0),
            DeviceInfo("npu", "npu", 0),
            DeviceInfo("npu:1", "gpu", 2),
            DeviceInfo("npu:2", "npu", 2, available=False),
        ]


class ListsNames(Backend):
    def devices(self) -> Sequence[Any]:
        return ["cpu:0"]


class UnclaimedDevice(Backend):
    def devices(self) -> Sequence[Any]:
        return [*super().devices(), DeviceInfo("dsp:0", "dsp", 0)]


class Declares(Backend):
    """Claims `multiply`, which it cannot do, and not `add` of integers, which it can."""

    capabilities = frozenset({*CLAIMS, "op:multiply", "-op:add:i32"})

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        if "multiply" in program.text or "negative" in program.text:
            raise NotImplementedError("no such kernel")
        return super().compile(program, device_map, options)
