"""A test that only puts data on a device loads neither the compiler, nor the judge, nor the corpus.

`benchmarks.first_seconds` measures what that is worth; here it is held by what is loaded.
"""

from __future__ import annotations

import json

import pytest

TEST = """
import json, sys
from pathlib import Path
import numpy as np

def test_it(device):
    assert (device.get(device.put(np.ones(3))) == 1).all()
    device.synchronize()
"""
CONFTEST = """
import json, sys
from pathlib import Path

def pytest_unconfigure():
    Path("loaded.json").write_text(json.dumps(sorted(sys.modules)))
"""
KIT = """
account backend backend.calls backend.device backend.discovery backend.exact backend.facts
backend.guard backend.listing backend.naming backend.progress backend.protocol bench bench.hooks
capability devicemap errors files files.text files.writing fixtures golden items ledger limits
locks narrowing options outcome outputs patterns phases plugin ran registration replaying report
report.content report.counting report.legend report.summary report.text report.undeclared run_end
runner runner.asked runner.subject session termination tested waivers waivers.model workers
"""
REFERENCE = """
arrays arrays.array arrays.memory arrays.namespace
conformance devices devices.api devices.catalog devices.cpu devices.cuda devices.faults
devices.host_memory devices.ledger devices.machine_memory devices.sim diagnostics
diagnostics.diagnostic source types types.arrays types.attrs types.device types.dim types.dtype
types.types
"""
"""What may be loaded. Think before a name is added: everybody's first test waits for it."""

HEAVY = ("cupy", "jax", "jsonschema", "jsonschema_rs", "llvmlite", "numba", "onnx", "onnxruntime")


def named(package: str, names: str) -> set[str]:
    return {package, *(f"{package}.{name}" for name in names.split())}


@pytest.mark.parametrize("devices", ["cpu,sim", "cpu,sim.timed", None])
def test_what_a_test_with_a_device_loads(pytester: pytest.Pytester, devices: str | None) -> None:
    pytester.makepyfile(TEST)
    pytester.makeconftest(CONFTEST)
    options = () if devices is None else (f"--devices={devices}",)

    pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)

    loaded = set(json.loads((pytester.path / "loaded.json").read_text()))
    ours = {name for name in loaded if name.split(".")[0] in ("hettest", "reference_vm")}
    assert sorted(ours - named("hettest", KIT) - named("reference_vm", REFERENCE)) == []
    assert sorted(loaded & set(HEAVY)) == []
    if devices is not None:
        assert "reference_vm.devices.sim" in loaded  # so the list is of a run that used it
