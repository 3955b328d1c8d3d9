"""Walking and rebuilding blocks."""

from __future__ import annotations

from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Alias, Binding, Block, Call, Dataflow, Function, If, Var
from reference_vm.types import DTYPES, TensorType, Type

F32 = TensorType(DTYPES["f32"], (4,))
F64 = TensorType(DTYPES["f64"], (4,))


def _branching() -> tuple[Block, dict[str, Var]]:
    """``%t = exp(%x); %r = if %c { %a = abs(%t); yield %a } else { yield %x }; return %r``."""
    v = {name: Var(name, F32) for name in "xctar"}
    then = Block((Binding(v["a"], Call("abs", (v["t"],))),), v["a"])
    orelse = Block((), v["x"])
    body = Block(
        (
            Binding(v["t"], Call("exp", (v["x"],))),
            Binding(v["r"], If(v["c"], then, orelse)),
        ),
        v["r"],
    )
    return body, v


def test_walk_yields_nested_bindings_after_the_one_that_holds_them() -> None:
    body, v = _branching()

    assert [b.var for b in rewrite.walk(body)] == [v["t"], v["r"], v["a"]]


def test_free_variables_are_those_read_but_not_bound() -> None:
    body, v = _branching()

    assert rewrite.free_vars(body) == (v["x"], v["c"])


def test_substitution_reaches_nested_blocks_and_their_results() -> None:
    body, v = _branching()
    y = Var("y", F32)

    after = rewrite.substitute_block(body, {v["x"]: y})

    assert rewrite.free_vars(after) == (y, v["c"])
    assert rewrite.free_vars(body) == (v["x"], v["c"])


def test_a_clone_binds_no_variable_of_its_original() -> None:
    body, _ = _branching()

    after = rewrite.clone(body)

    assert not set(rewrite.bound(after)) & set(rewrite.bound(body))
    assert rewrite.free_vars(after) == rewrite.free_vars(body)


def test_rebuild_drops_a_binding_and_renames_its_readers() -> None:
    x, y, z = (Var(n, F32) for n in "xyz")
    body = Block((Binding(y, Alias(x)), Binding(z, Call("abs", (y,)))), z)
    renamed: dict[Var, Var] = {}

    def change(binding: Binding) -> tuple[Binding, ...]:
        if isinstance(binding.value, Alias):
            renamed[binding.var] = binding.value.var
            return ()
        return (binding,)

    after = rewrite.rebuild(body, change, renamed)

    assert after == Block((Binding(z, Call("abs", (x,))),), z)


def test_retype_changes_every_type_and_keeps_sources() -> None:
    body, v = _branching()
    params = (Var("x", F32, source="main/%x"), v["c"])
    function = Function("main", params, F32, rewrite.substitute_block(body, {v["x"]: params[0]}))

    def to_f64(_: Type) -> Type:
        return F64

    after = rewrite.retype(function, to_f64)

    assert {var.type for var in (*after.params, *rewrite.bound(after.body))} == {F64}
    assert after.result == F64
    assert after.params[0].source == "main/%x"
    assert rewrite.free_vars(after.body) == after.params


def test_flatten_removes_dataflow_blocks() -> None:
    x, y = Var("x", F32), Var("y", F32)
    inner = Binding(y, Alias(x))
    body = Block((Dataflow((inner,), (y,)),), y)

    assert rewrite.flatten(body) == Block((inner,), y)


def test_depth_counts_nested_blocks_without_recursion() -> None:
    x = Var("x", F32)
    block = Block((), x)
    for _ in range(5_000):
        block = Block((Binding(Var("r", F32), If(x, block, Block((), x))),), x)

    assert rewrite.depth(block) == 5_000
