"""Explain a plan: run the planner and say, for each value and each copy, what decided it.

Nothing is guessed from what the planner made. The rules are asked again about the module as it went
in (`placement_reasons`), and each ``device_copy`` in the module that came out is led back to the
value that it moves and to those who read it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reference_vm.analysis.values import Value
from reference_vm.ir import rewrite
from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import Function, Module, Var
from reference_vm.passes import pipeline
from reference_vm.passes.catalog import simplifying
from reference_vm.passes.contested_groups import Contest, Settlement, cost
from reference_vm.passes.context import Pass, PassContext
from reference_vm.passes.explained_transfers import TransferExplainer
from reference_vm.passes.explanation import (
    Cost,
    Cut,
    Fact,
    FunctionPlan,
    Operator,
    Plan,
    Residence,
)
from reference_vm.passes.insert_copies import InsertCopies
from reference_vm.passes.instances import named_instances
from reference_vm.passes.placement_reasons import span_of
from reference_vm.passes.plan_devices import PlanDevices, plan
from reference_vm.passes.plan_facts import PlanFacts, line_of, named, op_of
from reference_vm.types import VirtualDevice


def explain(
    module: Module,
    requests: Mapping[str, Pass],
    ctx: PassContext,
    before: Sequence[Pass] | None = None,
) -> Plan:
    """Return the plan of ``module`` with the reasons for all of it.

    ``requests`` are the passes that add requests to those of the program, each by what the reader
    of the plan knows it as: ``--split=halves``. ``before`` are the passes that go first, those of
    the compiler if they are left out.

    Raises:
        CompileError: The program is at fault, or a request is.
    """
    module = pipeline.run(module, simplifying() if before is None else before, ctx)
    asked: dict[Var, str] = {}
    for name, pass_ in requests.items():
        known = _requested(module)
        module = pipeline.run(module, (pass_,), ctx)
        asked.update(dict.fromkeys(_requested(module) - known, name))
    module, asked = _distinctly_named(module, asked)
    placed = pipeline.run(module, (PlanDevices(),), ctx)
    local = pipeline.run(placed, (InsertCopies(),), ctx)
    planner = plan(module, ctx)
    functions = tuple(
        _plan(PlanFacts(name, instance, planner, asked), placed.by_name[name], local.by_name[name])
        for name, instance, _ in named_instances(planner)
    )
    return Plan(planner.places.order, ctx.policy.value, functions)


def _requested(module: Module) -> set[Var]:
    bindings = (b for f in module.functions for b in rewrite.walk(f.body))
    return {b.var for b in bindings if b.request is not None}


def _distinctly_named(module: Module, asked: Mapping[Var, str]) -> tuple[Module, dict[Var, str]]:
    """Return ``module`` with no two variables of a function of one name, and ``asked`` for it.

    The planner makes new variables and keeps names, so a name leads back from its module to ours.
    """
    moved: dict[Var, str] = {}
    functions = []
    for function in module.functions:
        names = FreshNames()

        def new(var: Var, names: FreshNames = names) -> Var:
            made = Var(names.fresh(var.name), var.type, var.span, var.source)
            if var in asked:
                moved[made] = asked[var]
            return made

        functions.append(rewrite.renamed(function, new))
    return module.with_functions(functions), moved


def _plan(facts: PlanFacts, planned: Function, local: Function) -> FunctionPlan:
    graph = facts.graph
    return FunctionPlan(
        facts.name_of_function,
        tuple(_residence(facts, value) for value in graph.values),
        tuple(_operators(facts)),
        TransferExplainer(facts, planned, local).run(),
        tuple(_cut(facts, *c) for c in facts.placement.contests if c[0].operations),
        graph.result,
        {k: str(v) for k, v in planned.attrs.items() if k.startswith("placement")},
    )


def _residence(facts: PlanFacts, value: Value) -> Residence:
    reason = facts.reasons.of_value(value)
    return Residence(
        value.index,
        facts.name(value),
        value.origin.name.lower(),
        facts.maker(value),
        facts.home(value),
        reason.rule,
        Fact(reason.text, line_of(reason.span)),
        facts.line(value),
        facts.bytes(value),
        facts.views[value.index],
        value.source,
    )


def _operators(facts: PlanFacts) -> Iterator[Operator]:
    for operation in facts.graph.operations:
        results = operation.results
        on_host = operation.on_host or not results
        yield Operator(
            operation.index,
            named(operation.binding.var),
            op_of(operation.binding),
            facts.places.host if on_host else facts.placement.devices[results[0]],
            line_of(span_of(operation.binding)),
            tuple(r.value for r in operation.reads),
            results,
        )


def _cut(facts: PlanFacts, contest: Contest, settlement: Settlement) -> Cut:
    operations = facts.graph.operations
    group = facts.reasons.group_of(operations[contest.operations[0]])
    pulls = dict.fromkeys(facts.reasons.pullers(group))
    return Cut(
        {named(operations[i].binding.var): settlement.on[i] for i in contest.operations},
        tuple(Fact(text, line_of(span)) for text, span in pulls),
        _cost(contest, settlement.on),
        {d: _cost(contest, dict.fromkeys(contest.operations, d)) for d in contest.devices},
        settlement.proven,
    )


def _cost(contest: Contest, on: Mapping[int, VirtualDevice]) -> Cost:
    """Return the parts of what a plan costs."""
    rest, off_default = divmod(cost(contest, on), contest.scale)
    return Cost(*divmod(rest, contest.scale), off_default)


__all__ = ["explain"]
