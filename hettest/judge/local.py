"""The local check: each operator, on the operands that it got in the run, within its own bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

from numpy.typing import NDArray

from hettest.judge.compare import Comparison, compare
from hettest.judge.limits import FLOOR, decided, share, unit
from hettest.judge.verdict import Check, Status
from hettest.language import Estimate, Module, Span, oracle

Array: TypeAlias = NDArray[Any]
Value: TypeAlias = "Array | str | tuple[Value, ...]"


@final
@dataclass
class _Local:
    """Gathers the local check's findings."""

    worst: float = 0.0
    detail: str = "no operator's result was observed"
    seen: int = 0
    undecided: int = 0
    elements: int = 0
    misshapen: list[str] = field(default_factory=list)

    def visit(self, name: str, op: str, estimate: Estimate, seen: Array, span: Span | None) -> None:
        line = f" (line {span.line})" if span is not None else ""
        if seen.shape != estimate.value.shape:
            self.misshapen.append(
                f"{name} = {op}{line}: shape {seen.shape}, expected {estimate.value.shape}"
            )
            return
        comparison = compare(seen, estimate)
        self.seen += 1
        self.elements += seen.size
        self.undecided += comparison.open_beyond(FLOOR * unit(estimate) * estimate.scale)
        if comparison.worst > self.worst or self.seen == 1:
            self.worst = max(self.worst, comparison.worst)
            self.detail = _local_detail(name, op, line, estimate, seen, comparison)

    def check(self) -> Check:
        if self.misshapen:
            return Check("local", Status.FAILS, self.misshapen[0], float("inf"))
        if not self.seen:
            return Check("local", Status.UNPROVEN, self.detail)
        status = Status.FAILS if self.worst > 1 else decided(self.undecided, self.elements)
        detail = self.detail
        if status is Status.UNDECIDED:
            share = f"{self.undecided} of {self.elements}"
            detail = f"{share} elements hang on decisions that rounding could tip"
        return Check("local", status, detail, self.worst, self.undecided)


def _local_detail(
    name: str, op: str, line: str, estimate: Estimate, seen: Array, comparison: Comparison
) -> str:
    if not seen.size or comparison.worst == 0:
        return f"{name} = {op}{line}: exact"
    place = comparison.place
    return (
        f"{name} = {op}{line}: element {list(place)} is {seen[place]}, "
        f"expected {float(estimate.value[place])!r} within {comparison.allowed[place]:.3g}"
        f"{share(comparison.beyond, seen.size)}"
    )


def check_local(
    module: Module, entry: str, args: Sequence[Value], seen: Mapping[str, Array] | None
) -> Check:
    findings = _Local()
    if seen:
        oracle.check_locally(module, entry, args, seen, findings.visit)
    return findings.check()
