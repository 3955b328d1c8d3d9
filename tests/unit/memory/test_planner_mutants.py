"""A planner that is broken in one way is found out by the checker, and in a checked run.

Each mutant has a program on which the honest planner is right. The checker says what the broken
plan does wrong; run with poison on every death, the program ends in an error or computes something
else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pytest

from reference_vm.analysis import owners as owners_module
from reference_vm.analysis.owners import Owner, Owners, Root
from reference_vm.bytecode.memory_check import memory_problems
from reference_vm.codegen import holds as holds_module
from reference_vm.codegen.emit import emit
from reference_vm.compiler import assemble
from reference_vm.diagnostics import DiagnosticError
from reference_vm.ir.nodes import Module
from reference_vm.passes import packed, plan_memory
from reference_vm.passes.fuse import Fuse
from reference_vm.passes.handed_over import HandedOver
from reference_vm.passes.memory_plan import Work
from reference_vm.passes.plan_memory import PlanMemory
from reference_vm.program.program import Program
from reference_vm.session import Session
from tests.unit.fuse.modules import context, placed

N: Final = "f32[n, n] @host"
S: Final = "f32[4, 4] @host"
W: Final = "f32[16, 16] @host"
R: Final = "f32[16, 1] @host"
M: Final = np.arange(1, 17, dtype=np.float32).reshape(4, 4) / 16


@dataclass(frozen=True)
class Mutant:
    """A way to break the planner, and a program that shows it."""

    says: str
    """Part of what the checker says."""

    signature: str
    body: str
    breaks: Mapping[tuple[Any, str], Any]
    args: tuple[Any, ...] = (M,)
    more: str = ""


def _views_make_memory(ops: Any, op: str) -> bool:
    return False


def _early(owned: Owners) -> Owners:
    """Let everything die one binding too early."""
    early = {(b, p - 1 if p > 0 else p): o for (b, p), o in owned.deaths.items()}
    owned.deaths.clear()
    owned.deaths.update({place: list(o) for place, o in early.items()})
    return owned


def _dying_early(*args: Any) -> Owners:
    return _early(owners_module.owners(*args))


def _no_sharing(*args: Any) -> Owners:
    """Forget that what an arm yields may be read by others too."""
    owned = owners_module.owners(*args)
    owned.shared.clear()
    owned.divided.clear()
    return owned


def _overlapping(pieces: Any) -> Any:
    """Place all pieces at the start."""
    return (0,) * len(pieces), max(p.size for p in pieces)


def _always_one_part(self: Any, branch: Owner, source: Owner, spans: Any) -> None:
    """Let what an arm yields share its bytes with the branch's result, whoever else reads it."""
    one, other = self.index[branch], self.index[source]
    self.linked.union(one, other)
    self.same.union(one, other)
    self.last[source] = max(self.last[source], self.last[branch])


def _first_operand(self: Work, binding: Any, owners: Owners, index: int) -> list[Owner]:
    """Write over the first operand, whoever reads it and however."""
    root: Root = next((r for a in binding.value.args for r in owners.roots.get(a, ())), None)
    return [] if root is None else [root]


def _everybody_dies(self: HandedOver, binding: Any, owner: Owner, size: Any, place: Any) -> Any:
    for other in self.work.overwritten(binding, self.plan.owners, owner[1]):
        slot = self.plan.slots.get(other)
        if slot is not None:
            return slot.storage
    return None


def _lower_bound(function: Any) -> dict[str, tuple[int, int]]:
    return {b.symbol: (b.lower, b.lower) for b in function}


def _never_shared(self: Any, var: Any, live: dict[Any, None]) -> bool:
    live[var] = None
    return False


MUTANTS: Final[Mapping[str, Mutant]] = {
    "alias-forgotten": Mutant(
        "after its memory is given back",
        f"%x: {N}) -> {N}",
        f"""%a: {N} = cumulative_sum(%x, axis = 0)
            %to: shape[n, n] = shape [n, n]
            %v: {N} = reshape(%a, %to)
            %b: {N} = cumulative_sum(%x, axis = 1)
            %c: {N} = cumulative_sum(%b, axis = 1)
            %d: {N} = add(%v, %c)
            return %d""",
        {(owners_module, "is_view"): _views_make_memory},
    ),
    "killed-too-early": Mutant(
        "after its memory is given back",
        f"%x: {N}) -> {N}",
        f"""%a: {N} = cumulative_sum(%x, axis = 0)
            %b: {N} = cumulative_sum(%x, axis = 1)
            %c: {N} = add(%a, %b)
            return %c""",
        {(plan_memory, "owners"): _dying_early},
    ),
    "yielded-and-read": Mutant(
        "",
        f"%x: {N}, %c: bool[] @host) -> {N}",
        f"""%a: {N} = cumulative_sum(%x, axis = 0)
            %t: {N} = if %c {{ yield %a }} else {{
              %e: {N} = cumulative_sum(%x, axis = 1)
              yield %e
            }}
            %b: {N} = cumulative_sum(%t, axis = 1)
            %d: {N} = cumulative_sum(%b, axis = 1)
            %f: {N} = add(%a, %d)
            return %f""",
        {(plan_memory, "owners"): _no_sharing},
        (M, np.array(True)),
    ),
    "offsets-overlap": Mutant(
        "has overwritten",
        f"%x: {S}) -> {S}",
        f"""%a: {S} = cumulative_sum(%x, axis = 0)
            %b: {S} = cumulative_sum(%x, axis = 1)
            %c: {S} = add(%a, %b)
            %d: {S} = cumulative_sum(%c, axis = 0)
            return %d""",
        {(packed, "pack"): _overlapping},
    ),
    "shared-with-a-branch-too-early": Mutant(
        "has overwritten",
        f"%x: {W}, %c: bool[] @host) -> {R}",
        f"""%a: {W} = cumulative_sum(%x, axis = 0)
            %r: {W} = if %c {{ yield %a }} else {{
              %b: {W} = cumulative_sum(%x, axis = 1)
              yield %b
            }}
            %d: {W} = cumulative_sum(%r, axis = 1)
            %e: {W} = cumulative_sum(%a, axis = 1)
            %f: {W} = add(%d, %e)
            %g: {R} = max(%f, axis = [1], keepdims = true)
            return %g""",
        {(packed._Lives, "_join_yielded"): _always_one_part},
        (np.resize(M, (16, 16)), np.array(False)),
    ),
    "in-place-with-a-second-reader": Mutant(
        "has overwritten",
        f"%x: {N}) -> {N}",
        f"""%a: {N} = cumulative_sum(%x, axis = 0)
            %b: {N} = exp(%a)
            %c: {N} = cumulative_sum(%a, axis = 1)
            %d: {N} = add(%b, %c)
            return %d""",
        {(HandedOver, "_overwritten"): _everybody_dies},
    ),
    "in-place-where-the-kernel-forbids": Mutant(
        "is written over what it is computed from",
        f"%x: {N}) -> {N}",
        f"""%a: {N} = cumulative_sum(%x, axis = 0)
            %b: {N} = flip(%a, axes = [0])
            return %b""",
        {(Work, "overwritten"): _first_operand},
    ),
    "bound-too-small": Mutant(
        "needs",
        f"%x: {N}) -> {N} bounds n in 1..32",
        f"""%a: {N} = cumulative_sum(%x, axis = 0)
            %b: {N} = cumulative_sum(%a, axis = 1)
            return %b""",
        {(plan_memory, "ranges"): _lower_bound},
        (np.ones((32, 32), np.float32),),
    ),
    "call-frees-its-argument": Mutant(
        "",
        f"%x: {N}) -> {N}",
        f"""%a: {N} = cumulative_sum(%x, axis = 0)
            %b: {N} = @down(%a, %a)
            return %b""",
        {(holds_module._Finder, "_take_over"): _never_shared},
        more="""fn @down(%y: f32[k, k] @host, %z: f32[k, k] @host) -> f32[k, k] @host {
          %c: f32[k, k] @host = cumulative_sum(%y, axis = 0)
          %d: f32[k, k] @host = cumulative_sum(%c, axis = 0)
          %e: f32[k, k] @host = add(%z, %d)
          return %e
        }""",
    ),
}


def module_of(mutant: Mutant) -> Module:
    return placed(mutant.signature, mutant.body, *([mutant.more] if mutant.more else []))


def planned(mutant: Mutant) -> Program:
    module = Fuse(enabled=False).run(module_of(mutant), context())
    return assemble(PlanMemory(poison=True).run(module, context()))


def problems(program: Program) -> list[str]:
    allowed = [context().targets["cpu"].in_place(p) for p in program.primitives]
    return memory_problems(program.executable, allowed)


def broken(mutant: Mutant, patch: pytest.MonkeyPatch) -> Program:
    """Return the program of a planner that the mutant has broken; tests' own checker is at rest."""
    patch.setattr("reference_vm.compiler.emit", emit)
    for (owner, name), value in mutant.breaks.items():
        patch.setattr(owner, name, value)
    return planned(mutant)


@pytest.mark.parametrize("name", MUTANTS)
def test_honest_planner_is_right(name: str) -> None:
    mutant = MUTANTS[name]
    program = planned(mutant)
    assert problems(program) == []
    plain = Session(assemble(module_of(mutant), executor="numpy")).run("main", *mutant.args)
    found = Session(program, checked=True, interpreter=True).run("main", *mutant.args)
    np.testing.assert_allclose(found, plain, rtol=1e-5)


@pytest.mark.parametrize("name", MUTANTS)
def test_checker_finds_each_mutant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = problems(broken(MUTANTS[name], monkeypatch))
    assert any(MUTANTS[name].says in text for text in found), found


@pytest.mark.parametrize("name", MUTANTS)
def test_checked_run_finds_each_mutant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    expected = Session(planned(mutant), interpreter=True).run("main", *mutant.args)
    session = Session(broken(mutant, monkeypatch), checked=True, interpreter=True)
    try:
        found = session.run("main", *mutant.args)
    except (DiagnosticError, TypeError, AttributeError):
        return  # memory that is gone, a register that is empty, or memory that is too small
    assert not np.allclose(found, expected, equal_nan=True)
