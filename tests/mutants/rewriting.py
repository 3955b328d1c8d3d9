"""Mutants that rewrite programs into others that are not equal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from hettest.language import DTYPES, Module, nodes
from tests.mutants.mutant import Mutant, kill
from tests.mutants.programs import calls, rewriting, rewritten

HINTED: Final = (
    "bugs/c20_pass_purity/hint_leaves_other_readers[plain,host=cpu:0,accel=sim:0,policy=copy]"
)
TIMES_ZERO: Final = "bugs/c21_float_rewrites/special_values[plain,rule=times-zero,default=cpu:0]"
REGROUPED: Final = (
    "bugs/c21_float_rewrites/order_of_rounding[plain,rule=sums-regrouped,default=sim:0]"
)
SIZED: Final = (
    "bugs/c23_symbolic_order/size_read_in_a_shape_alone"
    "[four,role=accel,host=cpu:0,accel=sim:0,policy=copy]"
)
CARRIED: Final = (
    "bugs/c25_control_flow/carried_values_exchanged[one,step=exchanged,default=cpu:0]",
    "bugs/c25_control_flow/carried_values_exchanged[three,step=exchanged,default=sim:0]",
)
NAMED_ALIKE: Final = "functions/names_apart[called,host=cpu:0,accel=sim:0,policy=copy]"
EITHER: Final = "bugs/c25_control_flow/branch_gives_an_outer_value[else,default=cpu:0]"


def _hint_on_the_value(module: Module) -> Module:
    """Let every later reader of a hinted value read it where the hint says."""
    hinted: dict[nodes.Var, nodes.Var] = {}

    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        value = binding.value
        if calls(binding, "hint_on_device") and isinstance(value, nodes.Call):
            (source,) = value.args
            assert isinstance(source, nodes.Var)
            hinted[source] = binding.var
        elif isinstance(value, nodes.Call):
            args = tuple(hinted.get(a, a) if isinstance(a, nodes.Var) else a for a in value.args)
            return (replace(binding, value=replace(value, args=args)),)
        return (binding,)

    return rewriting(change)(module)


def _zero_times_anything(module: Module) -> Module:
    """Take a product with zeros for zeros."""
    zeros: set[nodes.Operand] = set()

    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        value = binding.value
        if isinstance(value, nodes.Constant) and not any(value.data):
            zeros.add(binding.var)
        if calls(binding, "multiply") and isinstance(value, nodes.Call):
            zero = next((a for a in value.args if a in zeros), None)
            if isinstance(zero, nodes.Var):
                return (replace(binding, value=nodes.Alias(zero)),)
        return (binding,)

    return rewriting(change)(module)


def _sums_cancelled(module: Module) -> Module:
    """Take ``(x + c) - c`` for ``x``."""
    sums: dict[nodes.Operand, tuple[nodes.Operand, ...]] = {}

    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        value = binding.value
        if calls(binding, "add") and isinstance(value, nodes.Call):
            sums[binding.var] = value.args
        if calls(binding, "subtract") and isinstance(value, nodes.Call):
            left, right = value.args
            first, second = sums.get(left, (None, None))
            if second is not None and second == right and isinstance(first, nodes.Var):
                return (replace(binding, value=nodes.Alias(first)),)
        return (binding,)

    return rewriting(change)(module)


def _ordered_by_tensors(module: Module) -> Module:
    """Move each ``match_cast`` to where its tensor is first read, past who reads its symbols."""
    return module.with_functions(
        [replace(f, body=_casts_late(f.body)) for f in module.functions],
    )


def _casts_late(block: nodes.Block) -> nodes.Block:
    waiting: dict[nodes.Var, nodes.Binding] = {}
    ordered: list[nodes.Binding] = []
    for binding in block.bindings():
        if calls(binding, "match_cast"):
            waiting[binding.var] = binding
            continue
        ordered += [waiting.pop(v) for v in nodes.operands(binding.value) if v in waiting]
        ordered.append(binding)
    return replace(block, statements=(*ordered, *waiting.values()))


def _one_after_the_other(module: Module) -> Module:
    """Set what a function that calls itself is called with one after the other."""
    return module.with_functions([_sequential(f) for f in module.functions])


def _sequential(function: nodes.Function) -> nodes.Function:
    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        value = binding.value
        if not isinstance(value, nodes.Invoke) or value.callee != nodes.GlobalRef(function.name):
            return (binding,)
        now: dict[nodes.Operand, nodes.Operand] = {}
        for param, arg in zip(function.params, value.args, strict=True):
            now[param] = now.get(arg, arg)
        return (replace(binding, value=replace(value, args=tuple(now.values()))),)

    return rewritten(function, change)


def _always_the_first_arm(module: Module) -> Module:
    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        value = binding.value
        if not isinstance(value, nodes.If):
            return (binding,)
        true = nodes.Constant(DTYPES["bool"], (), b"\1")
        condition = nodes.Var(f"{binding.var.name}.always", None)
        chosen = replace(binding, value=replace(value, condition=condition))
        return (nodes.Binding(condition, true), chosen)

    return rewriting(change)(module)


def _called_by_name(module: Module) -> Module:
    """Call the function of the module that has a closure's name, where one takes as much."""

    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        value = binding.value
        if not isinstance(value, nodes.Invoke) or not isinstance(value.callee, nodes.Var):
            return (binding,)
        function = module.by_name.get(value.callee.name)
        if function is None or len(function.params) != len(value.args):
            return (binding,)
        called = replace(value, callee=nodes.GlobalRef(function.name))
        return (replace(binding, value=called),)

    return rewriting(change)(module)


MUTANTS: Final = (
    Mutant(
        name="puts-a-hint-on-the-value",
        fault_class="C20",
        breaks="writes a hint into the value that it is for, so that all its readers follow it",
        kills=(kill(HINTED, "moved"),),
        module=_hint_on_the_value,
    ),
    Mutant(
        name="simplifies-times-zero",
        fault_class="C21",
        breaks="takes a product with zero for zero, infinity and NaN included",
        kills=(kill(TIMES_ZERO, "values"),),
        module=_zero_times_anything,
    ),
    Mutant(
        name="cancels-sums",
        fault_class="C21",
        breaks="takes a sum less one of its terms for the other, as if nothing were rounded",
        kills=(kill(REGROUPED, "values"),),
        module=_sums_cancelled,
    ),
    Mutant(
        name="orders-by-tensors-alone",
        fault_class="C23",
        breaks="moves what binds a size behind what reads it in a shape",
        kills=(kill(SIZED, "diagnostics"),),
        module=_ordered_by_tensors,
    ),
    Mutant(
        name="steps-one-after-the-other",
        fault_class="C25",
        breaks="sets what a loop carries one after the other, so that some of it is read too late",
        kills=tuple(kill(item, "values") for item in CARRIED),
        module=_one_after_the_other,
    ),
    Mutant(
        name="takes-the-first-arm",
        fault_class="C25",
        breaks="takes the first arm of every branch",
        kills=(kill(EITHER, "values"),),
        module=_always_the_first_arm,
    ),
    Mutant(
        name="calls-by-name-alone",
        fault_class="C25",
        breaks="takes a closure for the function of the module that has the same name",
        kills=(kill(NAMED_ALIKE, "values"),),
        module=_called_by_name,
    ),
)
