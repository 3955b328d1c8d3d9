"""One command for a machine with a GPU: is the CUDA device right, and how fast is it?

    python -m benchmarks.gpu_check --out build/gpu_check.json

Each step runs in a process of its own with a time limit, the most valuable first, and the report is
written after every step, so that a run that is cut short keeps what it found. ``--device=sim:0``
rehearses it on a machine without GPU: same steps, same report.

===========  ======================================================================
environment  versions, the driver, the devices, and why one is missing
contract     the device contract suite (``tests/contract/test_device_api.py``)
corpus       every case of the corpus on ``cpu`` and the device
timings      launch latency, copy bandwidth, elementwise bandwidth, matmul, kernels per second
===========  ======================================================================
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

import reference_vm as rv
from reference_vm.devices.api import DeviceApi, Tensor, nbytes_of
from reference_vm.devices.catalog import describe, open_device
from reference_vm.types import DeviceName
from reference_vm.types.arrays import from_numpy

PACKAGES: Final = ("numpy", "ml_dtypes", "cupy-cuda13x", "cupy-cuda12x", "numba", "llvmlite")
SCHEMA: Final = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the steps; return 0 if all passed, else 1."""
    options = _parser().parse_args(argv)
    if options.step:
        print(json.dumps(STEPS[options.step](options.device, options.quick)))
        return 0
    return _run_all(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--out", type=Path, default=Path("build/gpu_check.json"))
    parser.add_argument("--seconds", type=float, default=420, help="for all steps together")
    parser.add_argument("--steps", default=",".join(STEPS), help="which, separated by commas")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--step", choices=STEPS, help="run one step here and print its result")
    return parser


def _run_all(options: argparse.Namespace) -> int:
    deadline = time.monotonic() + options.seconds
    report: dict[str, Any] = {"schema": SCHEMA, "device": options.device, "steps": {}}
    for name in options.steps.split(","):
        left = deadline - time.monotonic()
        found = _in_process(name, options, left) if left > 1 else _not_run("no time was left")
        report["steps"][name] = found
        print(f"{name}: {found['outcome']} in {found['seconds']:.1f} s", flush=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if all(s["outcome"] == "passed" for s in report["steps"].values()) else 1


def _not_run(reason: str) -> dict[str, Any]:
    return {"outcome": "not run", "reason": reason, "seconds": 0.0}


def _in_process(name: str, options: argparse.Namespace, limit: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.gpu_check", "--step", name]
    command += ["--device", options.device, *(["--quick"] if options.quick else [])]
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"outcome": "failed", "reason": f"took over {limit:.0f} s", "seconds": limit}
    seconds = time.monotonic() - start
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-20:]
        return {"outcome": "failed", "reason": "\n".join(reason), "seconds": seconds}
    return {"outcome": "passed", "seconds": seconds, **json.loads(done.stdout.splitlines()[-1])}


# Steps. Each returns what it found; ``outcome`` only where it is not ``passed``.


def environment(device: str, quick: bool) -> dict[str, Any]:
    described = describe(DeviceName.parse(device))
    return {
        "outcome": "passed" if described.available else "failed",
        "reason": described.reason,
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "packages": {name: _version(name) for name in PACKAGES},
        "driver": _driver() if described.available and device.startswith("cuda") else None,
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _driver() -> dict[str, Any]:
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    return {
        "driver": cupy.cuda.runtime.driverGetVersion(),
        "runtime": cupy.cuda.runtime.runtimeGetVersion(),
        "name": properties["name"].decode(),
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "memory": int(properties["totalGlobalMem"]),
    }


def contract(device: str, quick: bool) -> dict[str, Any]:
    kind = device.partition(":")[0]
    command = [sys.executable, "-m", "pytest", "tests/contract/test_device_api.py", "-q"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "-k", kind],
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stdout.strip().splitlines()[-15:] or done.stderr.strip().splitlines()[-15:]
    return {"outcome": "failed" if done.returncode else "passed", "reason": "\n".join(last)}


def corpus(device: str, quick: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-c", "from hettest.cli.main import main; main()", "run"]
        patterns = ["placement/*"] if quick else []
        command += [*patterns, f"--devices=cpu,{device}", f"--report={report}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        last = "\n".join(done.stdout.strip().splitlines()[-40:])
        if not report.exists():
            return {"outcome": "failed", "reason": last or done.stderr[-2000:]}
        found = json.loads(report.read_text())
    outcome = "failed" if done.returncode else "passed"
    return {"outcome": outcome, "reason": last, "counts": found["counts"]}


def timings(device: str, quick: bool) -> dict[str, Any]:
    opened = open_device(DeviceName.parse(device))
    rounds = 20 if quick else 2000
    sizes = [1 << 12, 1 << 20] if quick else [1 << 12, 1 << 20, 1 << 26, 1 << 30]
    side = 128 if quick else 4096
    return {
        "launch_us": _launch_us(opened, rounds),
        "copies": [_copy(opened, size, 3 if quick else 10) for size in sizes],
        "elementwise_gb_per_s": _elementwise(opened, sizes[-1] // 4, 3 if quick else 10),
        "matmul_tflop_per_s": _matmul(opened, side, 3 if quick else 10),
        "kernel_us_in_a_session": _session_us(device, 50 if quick else 500),
    }


def _put(device: DeviceApi, array: Any) -> Tensor:
    dtype = from_numpy(array.dtype)
    nbytes = nbytes_of(dtype, array.shape)
    tensor = Tensor(device.allocate(nbytes), 0, dtype, array.shape, nbytes)
    device.upload(array, tensor)
    return tensor


def _seconds(device: DeviceApi, work: Callable[[], Any], rounds: int) -> float:
    """Return the median time of one round, each waited for."""
    work()
    device.synchronize()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        device.synchronize()
        taken.append(time.perf_counter() - start)
    return median(taken)


def _add(xp: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> Sequence[Any]:
    xp.add(inputs[0], inputs[1], out=outputs[0])
    return outputs


def _multiply_matrices(xp: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> Sequence[Any]:
    xp.matmul(inputs[0], inputs[1], out=outputs[0])
    return outputs


def _launch_us(device: DeviceApi, rounds: int) -> float:
    """Return the time to issue one kernel of one element, without waiting for it."""
    x, out = (_put(device, np.ones(1, np.float32)) for _ in range(2))
    device.launch(_add, [x, x], [out])
    device.synchronize()
    start = time.perf_counter()
    for _ in range(rounds):
        device.launch(_add, [x, x], [out])
    taken = time.perf_counter() - start
    device.synchronize()
    return taken / rounds * 1e6


def _copy(device: DeviceApi, size: int, rounds: int) -> dict[str, float]:
    array = np.ones(size, np.uint8)
    tensor = _put(device, array)
    up = _seconds(device, lambda: device.upload(array, tensor), rounds)
    down = _seconds(device, lambda: device.download(tensor), rounds)
    device.free(tensor.buffer)
    return {"bytes": size, "to_gb_per_s": size / up / 1e9, "from_gb_per_s": size / down / 1e9}


def _elementwise(device: DeviceApi, count: int, rounds: int) -> float:
    x, y, out = (_put(device, np.ones(count, np.float32)) for _ in range(3))
    taken = _seconds(device, lambda: device.launch(_add, [x, y], [out]), rounds)
    for tensor in (x, y, out):
        device.free(tensor.buffer)
    return 12 * count / taken / 1e9


def _matmul(device: DeviceApi, side: int, rounds: int) -> float:
    x, y, out = (_put(device, np.ones((side, side), np.float32)) for _ in range(3))
    taken = _seconds(device, lambda: device.launch(_multiply_matrices, [x, y], [out]), rounds)
    return 2 * side**3 / taken / 1e12


def _session_us(device: str, kernels: int) -> float:
    """Return the time of one small kernel in a chain that a session runs, trace included."""
    steps = "\n".join(f"%v{i + 1} = add(%v{i}, %b)" for i in range(kernels))
    head = "module { vdevice @accel fn @main(%v0: f32[64], %b: f32[64]) -> f32[64] {"
    module = rv.parse(f"{head}\n{steps}\nreturn %v{kernels} }} }}")
    session = rv.Session(rv.compile(module, f"accel={device}", default="accel", fuse=False))
    x = np.ones(64, np.float32)
    session.run("main", x, x)
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        session.run("main", x, x)
        taken.append(time.perf_counter() - start)
    return median(taken) / kernels * 1e6


STEPS: Final[Mapping[str, Callable[[str, bool], dict[str, Any]]]] = {
    "environment": environment,
    "contract": contract,
    "corpus": corpus,
    "timings": timings,
}


if __name__ == "__main__":
    sys.exit(main())
