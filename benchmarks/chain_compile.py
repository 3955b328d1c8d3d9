"""How long the compiler takes for chains of 1,000 and of 10,000 operators.

Run it: ``python -m benchmarks.chain_compile``. Chains are of elementwise operators, of products
that do not fuse, and of operators placed on two devices in turn, with a copy between any two.
Seconds are those of the processor, kernels made before. The exit code is 1 if the long chain of a
kind takes more than 12 times as long as the short one, or more than 10 s, or if the recursion limit
was changed.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import reference_vm as rv
from benchmarks.side_by_side import within
from reference_vm.ir.nodes import Module
from reference_vm.jit.object_cache import PROGRAMS
from reference_vm.session import Session
from reference_vm.text import parse

SHORT, LONG = 1_000, 10_000

TIMES: Final = 12.0

SECONDS: Final = 10.0

ROUNDS: Final = 3

DEVICES: Final = "host=cpu:0,accel=sim:0"


def elementwise(number: int, before: str) -> str:
    op = ("add", "tanh", "multiply", "relu", "subtract", "sigmoid")[number % 6]
    return f"{op}({before}, %x)" if number % 2 == 0 else f"{op}({before})"


def products(number: int, before: str) -> str:
    return f"matmul({before}, %x)"


def on_two_devices(number: int, before: str) -> str:
    return f"add({before}, %x) {'@host' if number % 2 else '@accel'}"


KINDS: Final[Mapping[str, Callable[[int, str], str]]] = MappingProxyType(
    {"elementwise": elementwise, "products": products, "on two devices": on_two_devices}
)


def chain(operator: Callable[[int, str], str], length: int) -> Module:
    """Return a program of so many operators, each of which reads the result before."""
    lines, last = (
        ["module {", "  vdevice @host, @accel", "  fn @main(%x: f32[4, 4]) -> f32[4, 4] {"],
        "%x",
    )
    for number in range(length):
        lines.append(f"    %v{number} = {operator(number, last)}")
        last = f"%v{number}"
    return parse("\n".join([*lines, f"    return {last}", "  }", "}", ""]))


def seconds(module: Module) -> float:
    """Return the seconds from a module to a session that is ready to run."""
    start = time.process_time()
    Session(rv.compile(module, device_map=DEVICES))
    return time.process_time() - start


def main() -> int:
    os.environ[PROGRAMS] = "off"
    limit, kept = sys.getrecursionlimit(), True
    for kind, operator in KINDS.items():
        modules = {length: chain(operator, length) for length in (SHORT, LONG)}
        seconds(modules[SHORT])
        spent: dict[int, list[float]] = {SHORT: [], LONG: []}
        for _ in range(ROUNDS):
            spent[SHORT].append(statistics.median(seconds(modules[SHORT]) for _ in range(3)))
            spent[LONG].append(seconds(modules[LONG]))
        short, long = statistics.median(spent[SHORT]), statistics.median(spent[LONG])
        print(f"{kind}: {short:.3f} s for {SHORT:,} operators")
        kept &= within(f"{kind}, {LONG:,} operators", long, SECONDS, " s")
        kept &= within(f"{kind}, {LONG:,} against {SHORT:,}", long / short, TIMES, " times")
    assert sys.getrecursionlimit() == limit, "the compiler recurses"
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
