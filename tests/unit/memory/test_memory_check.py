"""The checker of memory finds what is wrong with bytecode, and nothing in what is right."""

from __future__ import annotations

import pytest

from reference_vm.bytecode.memory_check import memory_problems
from reference_vm.codegen.emit import emit
from reference_vm.ops.catalog import OPS
from reference_vm.passes.bind_vdevices import BindVdevices
from reference_vm.text import parse
from tests.unit.fuse.modules import context

ALLOC = "%{}: u8[{}] {} = vm.alloc_storage(alignment = 64, size = {})"
INVOKE = "%{}: {} @host = vm.invoke(@k, {}, %{}, offsets = [{}], outputs = 1)"


def problems(
    body: str, result: str = "f32[4] @host", params: str = "%x: f32[4] @host", more: str = ""
) -> list[str]:
    """Return what the checker says of one planned function, whose kernel cannot overwrite."""
    module = parse(
        f"""module {{
  vdevice @host, @accel
  type List {{ Nil, Cons(f32[4], List) }}
  fn @main({params}) -> {result} {{ {body} }}
  {more}
  fn @k(%p0: f32[4]) -> f32[4] attrs {{ primitive = true }} {{ %r: f32[4] = exp(%p0) return %r }}
}}"""
    )
    executable = emit(BindVdevices().run(module, context()), OPS).executable
    return memory_problems(executable, [frozenset()] * len(executable.kernels))


def alloc(name: str, size: str = "16", device: str = "@host") -> str:
    return ALLOC.format(name, size, device, size)


def invoke(name: str, read: str, storage: str, type_: str = "f32[4]", offset: int = 0) -> str:
    return INVOKE.format(name, type_, read, storage, offset)


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
            "5 reads 2 (at 1), which 5 (at 4) has overwritten",
            id="overwritten",
        ),
        pytest.param(
            f"{FIRST} %k: () = vm.kill(%s0) {B} {invoke('b', '%a', 's1')} return %b",
            "4 reads 2 (at 1) after its memory is given back",
            id="killed",
        ),
        pytest.param(
            f"{FIRST} {invoke('b', '%a', 's0')} return %b",
            "3 (at 2) is written over what it is computed from",
            id="in-place",
        ),
        pytest.param(
            f"{alloc('s0', '8')} {invoke('a', '%x', 's0')} return %a",
            "2 (at 1) needs 16 bytes at 0, storage 1 has 8",
            id="too-small",
        ),
        pytest.param(
            f"{alloc('s0', '24')} {invoke('a', '%x', 's0', offset=16)} return %a",
            "2 (at 1) needs 16 bytes at 16, storage 1 has 24",
            id="offset",
        ),
        pytest.param(
            f"{alloc('s0', '16', '@accel')} {invoke('a', '%x', 's0')} return %a",
            "2 (at 1) lies on another device than storage 1",
            id="device",
        ),
        pytest.param(
            f"{FIRST} {B} {invoke('b', '%a', 's1')} return %b",
            "the memory of 2 (at 1) is never given back",
            id="leak",
        ),
        pytest.param(
            f"{FIRST} %t: f32[4] @host = %a {B} {invoke('b', '%a', 's1')} %m: () = vm.share(%a)"
            " %k: () = vm.kill(%s0) %l: () = vm.kill(%a) %j: () = vm.kill(%t) return %b",
            "2 (at 1) is given back twice",
            id="twice",
        ),
        pytest.param(
            f"{FIRST} %k: () = vm.kill(%s0) return %a",
            "the result reads 2 (at 1) after its memory is given back",
            id="result",
        ),
        pytest.param(
            f"{FIRST} %to = shape [2, 2] %v: f32[2, 2] @host = reshape(%a, %to)"
            f" {B} {invoke('b', '%x', 's1')} {invoke('c', '%b', 's0')}"
            f" {alloc('s2')} {invoke('d', '%v', 's2')} %k: () = vm.kill(%s0, %s1) return %d",
            "8 reads 2 (at 1), which 7 (at 6) has overwritten",
            id="view",
        ),
        pytest.param(
            f"{FIRST} %m: () = vm.share(%a) {invoke('d', '%x', 's0')}"
            " %k: () = vm.kill(%s0) return %a",
            "is written to storage 1, which others have too",
            id="shared",
        ),
        pytest.param(
            f"{FIRST} %s: () = vm.share(%a) %k: () = vm.kill(%s0) return %x",
            "the memory of 2 (at 1) is never given back",
            id="shared-and-lost",
        ),
        pytest.param(
            f"{FIRST} %k: () = vm.kill(%s0, %x) return %x",
            "%x is given back, but it is the caller's",
            id="argument",
        ),
    ],
)
def test_each_fault_is_found(body: str, problem: str) -> None:
    found = problems(body)
    assert any(problem in text for text in found), found


def test_fault_on_one_path_only_is_found() -> None:
    found = problems(
        f"""{FIRST} {B} {invoke("b", "%a", "s1")}
            %r: f32[4] @host = if %c {{ {invoke("t", "%b", "s0")} yield %t }} else {{ yield %b }}
            {alloc("s2")} %d: f32[4] @host = vm.invoke(@k, %a, %s2, offsets = [0], outputs = 1)
            %k: () = vm.kill(%s0, %s1) return %d""",
        params="%x: f32[4] @host, %c: bool[] @host",
    )
    assert any("has overwritten" in text for text in found)


def test_storage_made_in_the_other_arm_is_refused() -> None:
    """The shape of program on which a planner without dominance reuses what is not there."""
    found = problems(
        f"""%r: f32[4] @host = if %c {{ {A} {invoke("t", "%x", "s0")} %k: () = vm.kill(%s0)
              yield %x }} else {{ {B} {invoke("e", "%x", "s1")} yield %e }}
            return %r""",
        params="%x: f32[4] @host, %c: bool[] @host",
    )
    assert found == []


def test_upper_bound_of_a_size_is_enough_and_less_is_not() -> None:
    for size, expected in (
        ("32", []),
        ("28", ["@main: 2 (at 1) needs 32 bytes at 0, storage 1 has 28"]),
    ):
        body = f"{alloc('s0', size)} {invoke('a', '%x', 's0', 'f32[n]')} return %a"
        text_result = "f32[n] @host bounds n in 1..8"
        assert problems(body, text_result, "%x: f32[n] @host") == expected


def test_what_lies_in_a_data_type_is_written_no_more() -> None:
    body = f"""%n: List = Nil() {FIRST} %l: List = Cons(%a, %n) {invoke("b", "%x", "s0")}
               return %l"""
    found = problems(body, "List")
    assert any("is written to storage" in text and "others have too" in text for text in found)


def test_call_takes_the_hold_of_what_it_is_given() -> None:
    again = f"{B} {invoke('b', '%a', 's1')}"
    more = """fn @use(%y: f32[4] @host) -> f32[4] @host { return %y }"""
    right = f"{FIRST} %r: f32[4] @host = @use(%a) return %r"
    assert problems(right, more=more) == []
    freed = f"{FIRST} %r: f32[4] @host = @use(%a) {again} %k: () = vm.kill(%s1) return %r"
    assert problems(freed, more=more) == []
