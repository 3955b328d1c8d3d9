"""Which loops a nest has, and what it keeps between them."""

from __future__ import annotations

from reference_vm.loops.code import Code
from reference_vm.loops.expand import expand
from reference_vm.loops.nest import Access, Inner, Nest, Store
from reference_vm.loops.scalar import Input, Scalar, binary, fold, unary
from reference_vm.loops.schedule import schedule, vector_schedule
from reference_vm.types.dtype import F32

X = Input(0, F32)


def nest(result: Scalar, inner: Inner = Inner.UNIT) -> Nest:
    """A nest of one input, read so, and one result over rows."""
    code = Code()
    value = expand(code, result, [code.load(0, F32)])
    access = Access(0, (0, 1), F32, inner)
    store = Store(0, (0, 1), value.index, F32, Inner.UNIT)
    return Nest(2, 1, (access,), tuple(code.instructions), (store,))


def test_without_folds_there_is_one_loop() -> None:
    plan = schedule(nest(unary("exp", X)))
    assert len(plan.loops) == 1
    assert plan.loops[0].stores == (0,)
    assert not plan.scratch


def test_each_fold_of_a_fold_takes_a_loop() -> None:
    centred = binary("sub", X, fold("max", X, 0.0))
    plan = schedule(nest(binary("mul", centred, fold("add", centred, 0.0))))
    assert [len(loop.folds) for loop in plan.loops] == [1, 1, 0]


def test_folds_that_need_nothing_of_each_other_share_a_loop() -> None:
    both = binary("add", fold("max", X, 0.0), fold("min", X, 0.0))
    assert [len(loop.folds) for loop in schedule(nest(binary("mul", X, both))).loops] == [2, 0]


def test_costly_value_is_kept_for_later_loops() -> None:
    power = unary("exp", X)
    plan = schedule(nest(binary("div", power, fold("add", power, 0.0))))
    assert len(plan.scratch) == 1
    first, last = plan.loops
    assert first.kept == last.recalled == plan.scratch
    assert plan.scratch[0] not in last.compute


def test_cheap_value_is_computed_again() -> None:
    double = binary("add", X, X)
    plan = schedule(nest(binary("mul", double, fold("add", double, 0.0))))
    assert not plan.scratch
    assert set(plan.loops[0].compute) <= set(plan.loops[1].compute)


def test_equal_values_are_computed_once() -> None:
    twice = binary("add", unary("exp", X), unary("exp", X))
    once = unary("exp", X)
    assert len(nest(twice).code) == len(nest(binary("add", once, once)).code)


def test_elements_apart_are_gathered_before_costly_loops() -> None:
    apart = nest(unary("exp", X), Inner.STRIDED)
    plan = vector_schedule(apart)
    gathering, computing = plan.loops
    assert [apart.code[i].op for i in gathering.compute] == ["load"]
    assert gathering.kept == computing.recalled == plan.scratch
    assert not set(computing.compute) & set(gathering.compute)
    assert len(plan.once) == len(plan.loops) + 1


def test_elements_apart_are_read_where_they_are_by_cheap_loops() -> None:
    assert not vector_schedule(nest(binary("add", X, X), Inner.STRIDED)).scratch
    assert not vector_schedule(nest(unary("exp", X))).scratch
