"""The small fake backend with one lie: what it is asked for is not done, and all else is well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hettest.backend.protocol import DeviceInfo, Observation, Options, Program
from tests.unit.hettest import fake_backend

FAULTS = (
    *("none", "ignores-the-default", "all-on-the-host", "reports-the-request", "no-placement"),
    *("no-observation", "drops-an-operator", "drops-a-dtype", "drops-a-device", "renames-a-device"),
    *("unsigned-zeros", "wrong-values", "misses-the-accelerator", "misses-every-device"),
)


@dataclass
class Faulty:
    """Named as ``tests.unit.hettest.faulty:Faulty:fault=ignores-the-default``."""

    fault: str = "none"
    name: str = "faulty"

    @property
    def capabilities(self) -> frozenset[str]:
        lost = {
            "no-placement": {"-observe:placement"},
            "no-observation": {"-observe:*"},
            "drops-an-operator": {"-op:negative"},
            "drops-a-dtype": {"-dtype:f32"},
            "drops-a-device": {"-device:sim"},
        }
        return frozenset(fake_backend.Backend().claims) | lost.get(self.fault, set())

    def devices(self) -> Sequence[DeviceInfo]:
        gone = {"misses-the-accelerator": ("sim",), "misses-every-device": ("cpu", "sim")}
        return [
            replace(info, available=False, reason="it fell out of the machine")
            if info.kind in gone.get(self.fault, ())
            else replace(info, name=info.name.replace("sim", "simulated"), kind="simulated")
            if info.kind == "sim" and self.fault == "renames-a-device"
            else info
            for info in fake_backend.Backend().devices()
        ]

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        if self.fault in ("ignores-the-default", "all-on-the-host", "reports-the-request"):
            options = replace(options, default="cpu:0")
        if self.fault in ("all-on-the-host", "reports-the-request"):
            device_map = dict.fromkeys(device_map, "cpu:0")
        made = fake_backend.Backend().compile(program, device_map, options)
        return _Executable(made, self.fault)

    def close(self) -> None:
        pass


@dataclass
class _Executable:
    made: fake_backend.Executable
    fault: str

    def run(self, entry: str, args: Sequence[Any]) -> Observation:
        seen = self.made.run(entry, args)
        if self.fault == "reports-the-request":
            moved = [replace(e, device="sim:0") for e in seen.executions or ()]
            seen = replace(seen, executions=moved)
        if self.fault == "no-placement":
            seen = replace(seen, executions=None)
        if self.fault == "no-observation":
            seen = replace(seen, executions=None, copies=None)
        if self.fault == "unsigned-zeros":
            found: Any = seen.results
            seen = replace(seen, results=np.where(found == 0, np.zeros_like(found), found))
        if self.fault == "wrong-values":
            seen = replace(seen, results=np.asarray(seen.results) + np.float32(1))
        return seen
