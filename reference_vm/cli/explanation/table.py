"""An explained plan as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from reference_vm.cli.explanation import words
from reference_vm.passes.explanation import Cut, FunctionPlan, Plan, Residence, Transfer
from reference_vm.passes.placement_reasons import Rule

_MORE: Final = 2
"""How many readers beyond the first are named."""

_NAME: Final = 44
"""Characters of a name, of which the last are kept."""


def text(plan: Plan, width: int) -> str:
    """Return the tables of ``plan`` as plain text, ``width`` characters wide."""
    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(tables(plan))
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def tables(plan: Plan) -> RenderableType:
    """Return the tables of every function of ``plan``."""
    return Group(*(part for function in plan.functions for part in _function(function)))


def _function(plan: FunctionPlan) -> Iterator[RenderableType]:
    yield Text(_headline(plan), style="bold")
    for name, note in plan.notes.items():
        yield Text(f"{name.replace('_', ' ')}: {note}")
    yield _values(plan)
    constants = [r for r in plan.residences if r.origin == "constant"]
    if constants:
        yield _constants(plan, constants)
    if plan.transfers:
        yield _transfers(plan)
    for index, cut in enumerate(plan.cuts):
        yield _cut(plan, cut, index)


def _headline(plan: FunctionPlan) -> str:
    copies = [t for t in plan.transfers if t.cause not in ("argument", "constant", "deliver")]
    arguments = sum(1 for t in plan.transfers if t.cause == "argument")
    operators = words.count(len(plan.operators), "operator")
    copied = f"{words.count(len(copies), 'copy')} of {words.size(sum(t.bytes for t in copies))}"
    return f"fn @{plan.name}: {operators}, {copied}, {words.count(arguments, 'argument')} brought"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", justify="right" if column == "line" else "left")
    return table


def _values(plan: FunctionPlan) -> Table:
    table = _table("values", "value", "made by", "lives on", "rule", "because", "line")
    for residence in plan.residences:
        if residence.origin == "constant":
            continue
        name = _variable(residence.name, plan.name)
        table.add_row(
            name,
            residence.made_by,
            words.device(residence.device),
            _rule(residence.rule),
            words.fact(residence.why),
            _line(residence.line),
        )
        for view in residence.views:
            shown = _variable(view.text, plan.name)
            on = words.device(residence.device)
            row = (shown, "", on, Rule.VIEW.value, f"shows {name}", _line(view.line))
            table.add_row(*row)
    return table


def _rule(rule: Rule) -> str:
    return rule.value if rule.number is None else f"{rule.number} {rule.value}"


def _constants(plan: FunctionPlan, constants: list[Residence]) -> Table:
    table = _table("constants (rule 8)", "value", "size", "because", "line")
    for residence in constants:
        name = _variable(residence.name, plan.name)
        size, why = words.size(residence.bytes), residence.why.text
        table.add_row(name, size, why, _line(residence.line))
    return table


def _transfers(plan: FunctionPlan) -> Table:
    title = "transfers: each with the two facts that force it"
    table = _table(
        title, "value", "from", "to", "size", "cause", "it is there", "it is wanted here"
    )
    for transfer in plan.transfers:
        if transfer.cause == "constant":
            continue
        table.add_row(
            _variable(transfer.name, plan.name),
            str(transfer.source),
            str(transfer.target),
            words.size(transfer.bytes),
            transfer.cause,
            words.fact(transfer.made),
            _wanted(transfer),
        )
    return table


def _wanted(transfer: Transfer) -> str:
    lines = [words.fact(transfer.read), *map(words.fact, transfer.others[:_MORE])]
    more = len(transfer.others) - _MORE
    if more > 0:
        lines.append(f"and {words.count(more, 'other reader')}")
    return "\n".join(lines)


def _cut(plan: FunctionPlan, cut: Cut, index: int) -> Table:
    title = f"contested group {index + 1}: {words.count(len(cut.operators), 'operator')}"
    table = _table(title, "plan", "moves", "copies", "off default")
    on = {d: [n for n, place in cut.operators.items() if place == d] for d in cut.alternatives}
    sides = "; ".join(
        f"{d}: {', '.join(_variable(n, plan.name) for n in names) or 'none'}"
        for d, names in on.items()
    )
    proven = "the cut" if cut.proven else "chosen, not proven minimal"
    rows = [(f"{proven} ({sides})", cut.chosen)]
    rows.extend((f"all on {device}", cost) for device, cost in cut.alternatives.items())
    for name, cost in rows:
        table.add_row(name, words.size(cost.bytes), str(cost.copies), str(cost.off_default))
    table.caption = "pulled by " + "; ".join(map(words.fact, cut.pulls))
    table.caption_justify = "left"
    return table


def _variable(name: str, function: str) -> str:
    return words.shortened(words.variable(name, function), _NAME)


def _line(line: int | None) -> str:
    return "" if line is None else str(line)


__all__ = ["tables", "text"]
