"""What fusion promises beyond the golden files: caps, order, linear time."""

from __future__ import annotations

import time

import pytest

from reference_vm.ir.nodes import Call, Invoke, Module, Var, operands
from reference_vm.ir.rewrite import walk
from tests.unit.fuse.modules import fused, kernels, placed

VECTOR = "f32[n] @host"


def chain(length: int) -> Module:
    lines = [f"%v0: {VECTOR} = exp(%x)"]
    lines += [f"%v{i}: {VECTOR} = add(%v{i - 1}, %x)" for i in range(1, length)]
    return placed(f"%x: {VECTOR}) -> {VECTOR}", "\n".join([*lines, f"return %v{length - 1}"]))


def sizes(module: Module) -> list[int]:
    """How many operators each invoked kernel of ``main`` holds, in order."""
    count = {
        f.name: sum(isinstance(b.value, Call) for b in f.body.bindings()) for f in module.functions
    }
    return [count[name] for name in kernels(module)]


def test_kernel_holds_no_more_operators_than_the_target_takes() -> None:
    assert sizes(fused(chain(200))) == [64, 64, 64, 8]
    assert sizes(fused(chain(10), limit=4)) == [4, 4, 2]


def test_long_chains_take_linear_time() -> None:
    spent = []
    for length in (1_000, 8_000):
        module = chain(length)
        start = time.process_time()
        result = fused(module)
        spent.append(time.process_time() - start)
        assert len(result.functions) <= 1 + 3
    assert spent[1] < 8 * 4 * max(spent[0], 0.02)


def test_many_groups_side_by_side_stay_apart() -> None:
    """Each running sum reads the values around it: nothing may be fused across it."""
    lines = ["%v0: f32[4, 4] @host = exp(%x)"]
    for i in range(1, 1500):
        lines.append(f"%m{i}: f32[4, 4] @host = cumulative_sum(%v{i - 1}, axis = 0)")
        lines.append(f"%v{i}: f32[4, 4] @host = add(%m{i}, %v{i - 1})")
    module = placed("%x: f32[4, 4] @host) -> f32[4, 4] @host", "\n".join([*lines, "return %v1499"]))
    assert set(sizes(fused(module))) == {1}


def test_every_value_is_made_before_it_is_read() -> None:
    """``%b`` joins the kernel of ``%a``; what reads ``%a`` in between comes after it."""
    module = fused(
        placed(
            f"%x: {VECTOR}, %y: f32[n, n] @host) -> ({VECTOR}, f32[n, n] @host, {VECTOR})",
            f"""%a: {VECTOR} = exp(%x)
                %p: f32[n, n] @host = add(%y, %a)
                %m: f32[n, n] @host = matmul(%p, %y)
                %b: {VECTOR} = negative(%a)
                %r: ({VECTOR}, f32[n, n] @host, {VECTOR}) = (%a, %m, %b)
                return %r""",
        )
    )
    known: set[Var] = set(module.by_name["main"].params)
    for binding in walk(module.by_name["main"].body):
        assert set(operands(binding.value)) <= known
        known.add(binding.var)
    assert "fused_exp_negative" in kernels(module)


def test_kernels_define_every_operator_once() -> None:
    module = fused(chain(150))
    defined = [
        name
        for b in walk(module.by_name["main"].body)
        if isinstance(b.value, Invoke)
        for name in b.value.attrs["defines"]
    ]
    assert defined == [f"main/%v{i}" for i in range(150)]


@pytest.mark.parametrize(
    ("shape", "fuses"), [("f32[n, 1]", True), ("f32[1, m]", False), ("f32[m]", False)]
)
def test_costly_values_are_not_computed_again_for_each_place(shape: str, fuses: bool) -> None:
    """The exponential of a row would be computed for every row; that of a fold's shape is not."""
    column = shape == "f32[n, 1]"
    make = "sum(%x, axis = [1], keepdims = true)" if column else "exp(%y)"
    module = fused(
        placed(
            f"%x: f32[n, m] @host, %y: {shape} @host) -> f32[n, m] @host",
            f"""%s: {shape} @host = {make}
                %e: {shape} @host = exp(%s)
                %r: f32[n, m] @host = add(%x, %e)
                return %r""",
        )
    )
    assert (len(kernels(module)) == 1) == fuses


def test_unknown_sizes_fuse_along_one_operand_only() -> None:
    module = fused(
        placed(
            "%x: f32[n] @host, %y: f32[?] @host, %z: f32[?] @host) -> f32[?] @host",
            """%a: f32[?] @host = exp(%y)
               %b: f32[?] @host = negative(%a)
               %c: f32[?] @host = add(%b, %z)
               return %c""",
        )
    )
    assert kernels(module) == ["fused_exp_negative", "add"]


def test_constants_that_no_one_reads_any_more_are_gone() -> None:
    module = fused(
        placed(
            f"%x: {VECTOR}) -> {VECTOR}",
            f"""%c: f32[] @host = const f32[] [2.0]
                %r: {VECTOR} = multiply(%x, %c)
                return %r""",
        )
    )
    assert [b.var.name for b in walk(module.by_name["main"].body)] == ["r"]
