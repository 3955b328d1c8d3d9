"""Programs run by an engine in which computation follows data, with NumPy as that engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from hettest.adapters.following import Run
from hettest.adapters.reading import Task, homes
from hettest.backend.protocol import Observation

DEVICES = {"host": "cpu:0", "accel": "cpu:1"}
ONE, TWO = (np.array(data, np.float32) for data in ((1, 2), (10, 20)))


@dataclass(frozen=True)
class Tensor:
    """An array of the engine; one that is not committed follows the others."""

    array: Any
    device: str
    committed: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def nbytes(self) -> int:
        return int(self.array.nbytes)


@dataclass
class Arrays:
    """NumPy as `following.Arrays`."""

    default: str = "cpu:0"
    puts: list[tuple[str, str]] = field(default_factory=list)

    def put(self, array: Any, device: str | None) -> Tensor:
        if not isinstance(array, Tensor):
            return Tensor(np.array(array), device or self.default, device is not None)
        if device in (None, array.device):
            return array
        self.puts.append((array.device, device or ""))
        return Tensor(array.array.copy(), device or "")

    def fresh(self, array: Tensor) -> Tensor:
        return Tensor(array.array.copy(), array.device)

    def where(self, array: Tensor) -> str:
        return array.device

    def moved(self, before: Tensor, after: Tensor) -> bool:
        return before.array is not after.array

    def apply(self, op: str, operands: Sequence[Any], attrs: Mapping[str, Any], device: str) -> Any:
        tensors = [o for o in operands if isinstance(o, Tensor)]
        at = next((t.device for t in tensors if t.committed), device)
        assert all(t.device == at for t in tensors if t.committed), "apart"
        if op == "split":
            halves = np.split(operands[0].array, 2)
            return tuple(Tensor(half, at) for half in halves)
        if op == "reshape":
            return Tensor(operands[0].array.reshape([int(n) for n in operands[1]]), at)
        return Tensor(getattr(np, op)(*(t.array for t in tensors)), at)

    def data(self, array: Tensor) -> Any:
        return array.array


def run(body: str, policy: str = "copy", result: str = "f32[2]") -> Observation:
    text = f"""module {{
  vdevice @host, @accel
  fn @main(%a: f32[2], %b: f32[2]) -> {result} {{
{body}
  }}
}}
"""
    task = Task("x", text, DEVICES, policy, "cpu:0", "main")
    return Run(Arrays(), task, homes(task)).run((ONE, TWO))


def moved(observation: Observation) -> list[tuple[str | None, str, str, str | None]]:
    return [(c.value, c.source, c.target, c.cause) for c in observation.copies or ()]


def test_operands_are_brought_to_a_request_once() -> None:
    seen = run("%s = add(%a, %b) @host\n%t = square(%s) @accel\n%u = add(%t, %s) @accel\nreturn %u")

    assert [e.device for e in seen.executions or ()] == ["cpu:0", "cpu:1", "cpu:1"]
    assert moved(seen) == [("main/%s", "cpu:0", "cpu:1", "read")]


def test_an_argument_read_on_one_device_is_handed_over_there() -> None:
    seen = run("%s = negative(%a) @accel\nreturn %s")

    assert moved(seen) == [("main/%a", "cpu:0", "cpu:1", "argument")]
    assert (seen.copies or ())[0].bytes == 8


@pytest.mark.parametrize(("policy", "cause"), [("copy", "read"), ("replicate", "argument")])
def test_an_argument_read_on_two_devices_goes_by_the_policy(policy: str, cause: str) -> None:
    seen = run("%s = negative(%a) @host\n%t = square(%a) @accel\nreturn %t", policy)

    assert moved(seen) == [("main/%a", "cpu:0", "cpu:1", cause)]


def test_what_the_engine_takes_along_is_noted() -> None:
    seen = run("%s = negative(%a) @accel\n%t = add(%s, %b)\nreturn %t")

    assert moved(seen)[1] == ("main/%b", "cpu:0", "cpu:1", "argument")


def test_a_shape_that_is_computed_elsewhere_is_read_on_the_host() -> None:
    body = """%k = const i64[2] [1, 2]
%m = add(%k, %k) @accel
%n = floor_divide(%m, %k) @accel
%h = minimum(%n, %k) @accel
%r = reshape(%a, %h)
return %r"""
    seen = run(body, result="f32[1, 2]")

    assert ("main/%h", "cpu:1", "cpu:0", "host") in moved(seen)


def test_several_results_nest_as_the_program_says() -> None:
    body = "%p = split(%a, num_outputs = 2)\n%x = %p[0]\n%t = (%p, %x)\nreturn %t"
    seen = run(body, result="((f32[1], f32[1]), f32[1])")

    nested: Any = seen.results
    (first, second), third = nested
    assert [np.asarray(r).tolist() for r in (first, second, third)] == [[1], [2], [1]]
    assert [e.defines for e in seen.executions or ()] == [("main/%p",)]


def test_a_placed_result_is_delivered_there() -> None:
    seen = run("%s = negative(%a) @host\nreturn %s", result="f32[2] @accel")

    assert moved(seen) == [("main/%s", "cpu:0", "cpu:1", "result")]
