"""Aliases, lives and intervals: what memory planning rests on."""

from __future__ import annotations

import pytest

from reference_vm.analysis.aliases import aliases
from reference_vm.analysis.intervals import interval, ranges
from reference_vm.analysis.liveness import last_uses
from reference_vm.ir.nodes import Bound, Module, Var
from reference_vm.ir.rewrite import bound
from reference_vm.ops.catalog import OPS
from reference_vm.types import UNKNOWN, Dim
from reference_vm.types.dim import apply, symbol
from tests.unit.fuse.modules import placed

M = "f32[4, 4] @host"
N, K = symbol("n"), symbol("k")


def variables(module: Module) -> dict[str, Var]:
    function = module.by_name["main"]
    return {v.name: v for v in (*function.params, *bound(function.body))}


def same_memory(body: str, one: str, other: str, *more: str) -> bool:
    """Whether two variables of ``main`` may share memory; ``%t.1`` names a leaf of a tuple."""
    module = placed(f"%x: {M}, %y: {M}, %c: bool[] @host) -> {M}", f"{body} return %x", *more)
    found = aliases(module.by_name["main"], module, OPS)
    names = variables(module)

    def leaf(text: str) -> int:
        name, _, index = text.partition(".")
        return found.classes(names[name])[int(index or 0)]

    return leaf(one) == leaf(other)


FLAT = "%flat = shape [16]"


@pytest.mark.parametrize(
    ("body", "one", "other", "expected"),
    [
        (f"{FLAT} %v: f32[16] @host = reshape(%x, %flat)", "v", "x", True),
        ("%v = %x", "v", "x", True),
        (f"%v: {M} = exp(%x)", "v", "x", False),
        (f"%v: {M} = device_copy(%x) @host", "v", "x", False),
        (f"%t: ({M}, {M}) = (%x, %y) %v: {M} = %t[1]", "v", "y", True),
        (f"%t: ({M}, {M}) = (%x, %y) %v: {M} = %t[1]", "v", "x", False),
        (f"%t: ({M}, {M}) = (%x, %y)", "t.0", "x", True),
        (f"%v: {M} = if %c {{ yield %x }} else {{ yield %y }}", "x", "y", True),
        (f"%v: {M} = if %c {{ yield %x }} else {{ %e: {M} = exp(%y) yield %e }}", "v", "e", True),
        (f"%v: {M} = if %c {{ yield %x }} else {{ %e: {M} = exp(%y) yield %e }}", "v", "y", False),
    ],
)
def test_what_may_be_the_same_memory(body: str, one: str, other: str, expected: bool) -> None:
    assert same_memory(body, one, other) is expected


@pytest.mark.parametrize(("returned", "expected"), [("%p", True), ("%q", False)])
def test_call_shares_what_the_callee_may_return(returned: str, expected: bool) -> None:
    callee = f"fn @pick(%p: {M}, %q: {M}) -> {M} {{ %e: {M} = exp(%p) return {returned} }}"
    assert same_memory(f"%v: {M} = @pick(%x, %y)", "v", "x", callee) is expected
    assert same_memory(f"%v: {M} = @pick(%x, %y)", "v", "y", callee) is not expected


def test_memory_ends_after_its_last_use_through_any_name() -> None:
    module = placed(
        f"%x: {M}) -> {M}",
        f"""{FLAT}
            %s: {M} = exp(%x)
            %r: f32[16] @host = reshape(%s, %flat)
            %t: f32[16] @host = exp(%r)
            %u: f32[16] @host = add(%t, %t)
            %back = shape [4, 4]
            %w: {M} = reshape(%u, %back)
            return %w""",
    )
    function = module.by_name["main"]
    found = aliases(function, module, OPS)
    names = {found.classes(v)[0]: v.name for v in variables(module).values() if found.classes(v)}
    ends = {
        place[1]: [names[leaf] for leaf in dead]
        for place, dead in last_uses(function, found).items()
    }
    assert ends == {3: ["r"], 4: ["t"]}  # %s and %r are one memory; %u is returned


def test_arm_memory_that_is_handed_out_ends_outside() -> None:
    module = placed(
        f"%x: {M}, %c: bool[] @host) -> {M}",
        f"""%v: {M} = if %c {{
              %a: {M} = exp(%x) %b: {M} = exp(%a) yield %b
            }} else {{ %d: {M} = exp(%x) yield %d }}
            %w: {M} = exp(%v)
            return %w""",
    )
    function = module.by_name["main"]
    found = aliases(function, module, OPS)
    names = variables(module)
    ends = last_uses(function, found)
    assert ends[0, 1] == found.classes(names["v"]) == found.classes(names["d"])
    assert ends[1, 1] == found.classes(names["a"])


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (7, (7, 7)),
        (4 * N + 1, (5, 41)),
        (N - K, (-4, 9)),
        (N * K, (1, 50)),
        (apply("floordiv", N, 3), (0, 3)),
        (apply("ceildiv", N, K), (1, 10)),
        (apply("mod", N, K), (0, 4)),
        (apply("min", N, K), (1, 5)),
        (apply("max", N, 4 * K), (4, 20)),
        (symbol("free"), None),
        (UNKNOWN, None),
        (apply("floordiv", N, K - 1), None),
    ],
)
def test_dims_lie_between_what_their_bounds_allow(
    dim: Dim, expected: tuple[int, int] | None
) -> None:
    known = ranges([Bound("n", 1, 10), Bound("k", 1, 5), Bound("free", 1)])
    assert interval(dim, known) == expected
