"""Runs of one program that round differently, each right, and how they are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final
from unittest.mock import patch

import numpy as np

import reference_vm as rv
from hettest.backend.protocol import Observation
from hettest.judge import Verdict, judge
from reference_vm.ir.nodes import Module
from tests.mutants.kernels import computing

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
DEVICES: Final = "host=cpu:0,accel=sim:0"

WAYS: Final[Mapping[str, Mapping[str, Any]]] = {
    "as usual": {},
    "on the accelerator": {"default": "accel"},
    "operator by operator": {"fuse": False, "plan_memory": False, "executor": "numpy"},
    "split in halves": {"split": "halves"},
    "split by chance": {"split": "random:3", "executor": "numpy"},
}
"""Ways to compile one program: other targets, devices and fusions, and so other roundings."""


@final
@dataclass(frozen=True)
class Written:
    """A program, what it is given, and the operators that it has."""

    body: Sequence[str]
    params: Mapping[str, str]
    """The parameters' types by their names."""

    args: Sequence[Array]
    result: str

    @property
    def text(self) -> str:
        listed = ", ".join(f"{name}: {type_}" for name, type_ in self.params.items())
        lines = "\n".join(f"    {line}" for line in self.body)
        types = self.result_types
        return (
            "module {\n  vdevice @host, @accel\n"
            f"  fn @main({listed}) -> {types} {{\n{lines}\n    return {self.result}\n  }}\n}}\n"
        )

    result_types: str = ""


def run(module: Module, args: Sequence[Array], options: Mapping[str, Any]) -> Observation:
    """Return what a run shows that is compiled in one of the `WAYS`."""
    session = rv.Session(rv.compile(module, DEVICES, precompute=False, **options))
    results = session.run("main", *args, keep=True)
    return Observation(results=results, intermediates=session.intermediates)


def verdicts(written: Written) -> Iterator[tuple[str, Verdict]]:
    """Yield how each of the runs is judged, with what it computed on the way and without."""
    module = rv.parse(written.text, "written")
    baseline = run(module, written.args, {"fuse": False})
    for name, options in WAYS.items():
        seen = run(module, written.args, options)
        yield name, judge(module, "main", written.args, seen, baseline)
        hidden = [Observation(results=o.results) for o in (seen, baseline)]
        yield f"{name}, results alone", judge(module, "main", written.args, *hidden)


def broken(written: Written, changed: Mapping[str, Callable[..., Any]]) -> Verdict:
    """Return how a run is judged in which operators compute something else."""
    module = rv.parse(written.text, "written")
    baseline = run(module, written.args, {"fuse": False})
    replacement = computing(changed)
    with ExitStack() as stack:
        stack.enter_context(patch.object(replacement.owner, replacement.name, replacement.value))
        seen = run(module, written.args, {"fuse": False, "plan_memory": False})
    return judge(module, "main", written.args, seen, baseline)


def failures(written: Written) -> list[str]:
    return [
        f"{way}: {check.name}: {check.detail}"
        for way, verdict in verdicts(written)
        for check in verdict.failures
    ]


__all__ = ["DEVICES", "WAYS", "Written", "broken", "failures", "run", "verdicts"]
