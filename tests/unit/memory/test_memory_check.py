"""The checker of memory plans finds what is wrong with a plan, and nothing in a right one."""

from __future__ import annotations

import pytest

from reference_vm.analysis.memory_check import check_memory
from reference_vm.ops.catalog import OPS
from reference_vm.passes.bind_vdevices import BindVdevices
from reference_vm.text import parse
from tests.unit.fuse.modules import context

ALLOC = "%{}: u8[{}] {} = vm.alloc_storage(alignment = 64, size = {})"
INVOKE = "%{}: {} @host = vm.invoke(@k, {}, %{}, offsets = [0], outputs = 1)"


def problems(
    body: str, result: str = "f32[4] @host", params: str = "%x: f32[4] @host"
) -> list[str]:
    """Return what the checker says of one planned function."""
    module = parse(
        f"""module {{
  vdevice @host, @accel
  fn @main({params}) -> {result} {{ {body} }}
  fn @k(%p0: f32[4]) -> f32[4] attrs {{ primitive = true }} {{ %r: f32[4] = exp(%p0) return %r }}
}}"""
    )
    return check_memory(BindVdevices().run(module, context()), OPS)


def alloc(name: str, size: str = "16", device: str = "@host") -> str:
    return ALLOC.format(name, size, device, size)


def invoke(name: str, read: str, storage: str, type_: str = "f32[4]") -> str:
    return INVOKE.format(name, type_, read, storage)


A, B = alloc("s0"), alloc("s1")
FIRST = f"{A} {invoke('a', '%x', 's0')}"


def test_right_plan_has_no_problem() -> None:
    assert problems(f"{FIRST} {B} {invoke('b', '%a', 's1')} %k: () = vm.kill(%s0) return %b") == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param(
            f"{FIRST} {B} {invoke('b', '%a', 's1')} {invoke('c', '%b', 's0')}"
            f" {invoke('d', '%a', 's1')} %k: () = vm.kill(%s0) return %d",
            "%d reads %a, which %c has overwritten",
            id="overwritten",
        ),
        pytest.param(
            f"{FIRST} %k: () = vm.kill(%s0) {B} {invoke('b', '%a', 's1')} return %b",
            "%b reads %a after its memory is given back",
            id="killed",
        ),
        pytest.param(
            f"{FIRST} {invoke('b', '%a', 's0')} return %b",
            "%b is written over what it is computed from",
            id="in-place",
        ),
        pytest.param(
            f"{alloc('s0', '8')} {invoke('a', '%x', 's0')} return %a",
            "%a needs 16 bytes, storage %s0 has 8",
            id="too-small",
        ),
        pytest.param(
            f"{alloc('s0', '16', '@accel')} {invoke('a', '%x', 's0')} return %a",
            "%a lies on another device than storage %s0",
            id="device",
        ),
        pytest.param(
            f"{FIRST} {B} {invoke('b', '%a', 's1')} return %b",
            "the memory of %a is never given back",
            id="leak",
        ),
        pytest.param(
            f"{FIRST} {B} {invoke('b', '%a', 's1')} %k: () = vm.kill(%s0) %l: () = vm.kill(%s0)"
            " return %b",
            "storage %s0 is given back twice",
            id="twice",
        ),
        pytest.param(
            f"{FIRST} %k: () = vm.kill(%s0) return %a",
            "the result reads %a after its memory is given back",
            id="result",
        ),
        pytest.param(
            f"{FIRST} %to = shape [2, 2] %v: f32[2, 2] @host = reshape(%a, %to)"
            f" {B} {invoke('b', '%x', 's1')} {invoke('c', '%b', 's0')}"
            f" {alloc('s2')} {invoke('d', '%v', 's2')} %k: () = vm.kill(%s0, %s1) return %d",
            "%d reads %a, which %c has overwritten",
            id="view",
        ),
    ],
)
def test_each_fault_is_found(body: str, problem: str) -> None:
    assert f"@main: {problem}" in problems(body)


def test_fault_on_one_path_only_is_found() -> None:
    found = problems(
        f"""{FIRST} {B} {invoke("b", "%a", "s1")}
            %r: f32[4] @host = if %c {{ {invoke("t", "%b", "s0")} yield %t }} else {{ yield %b }}
            {alloc("s2")} %d: f32[4] @host = vm.invoke(@k, %a, %s2, offsets = [0], outputs = 1)
            %k: () = vm.kill(%s0, %s1) return %d""",
        params="%x: f32[4] @host, %c: bool[] @host",
    )
    assert "@main: %d reads %a, which %t has overwritten" in found


def test_upper_bound_of_a_size_is_enough_and_less_is_not() -> None:
    for size, expected in (("32", []), ("28", ["@main: %a needs 32 bytes, storage %s0 has 28"])):
        body = f"{alloc('s0', size)} {invoke('a', '%x', 's0', 'f32[n]')} return %a"
        text_result = "f32[n] @host bounds n in 1..8"
        assert problems(body, text_result, "%x: f32[n] @host") == expected
