"""What the tests of adapters for other people's engines share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hettest.backend.protocol import Backend, Observation, Options
from hettest.case.loader import load
from hettest.corpus import corpus_root, select
from hettest.outcome import Outcome
from hettest.runner import TextProgram, run_item
from hettest.runner.run import Environment

ONE, TWO = (np.array(data, np.float32) for data in ((1, 2, 3, 4), (10, 20, 30, 40)))

TWO_BY_REQUEST: Final = """%s = add(%a, %b) @host
%t = multiply(%s, %s) @accel
%u = add(%t, %s) @accel
return %u"""


def run(
    backend: Backend,
    body: str,
    device_map: Mapping[str, str],
    policy: str = "copy",
    default: str = "cpu:0",
) -> Observation:
    """Run ``body`` on `ONE` and `TWO`, called ``%a`` and ``%b``."""
    text = f"""module {{
  vdevice @host, @accel
  fn @main(%a: f32[4], %b: f32[4]) -> f32[4] {{
{body}
  }}
}}
"""
    executable = backend.compile(TextProgram("x", text), device_map, Options(policy, default))
    return executable.run("main", (ONE, TWO))


def moved(observation: Observation) -> list[tuple[str | None, str, str, str | None]]:
    """Return each transfer: what, from, to, why."""
    return [(c.value, c.source, c.target, c.cause) for c in observation.copies or ()]


def ran(observation: Observation) -> dict[str, str]:
    """Return where each variable was computed."""
    return {name: e.device for e in observation.executions or () for name in e.defines}


def ended(backend: Backend, case: str, devices: Sequence[str]) -> set[Outcome]:
    """Return how the items of a case end."""
    root = corpus_root()
    items = select(load(root / f"{case}.toml", root), devices).items
    environment = Environment(backend, backend.name, devices, {})
    return {run_item(item, environment).outcome for item in items}
