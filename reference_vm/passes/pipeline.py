"""Run passes one after the other, and hold each to its contract.

A module must have the properties that a pass requires. With ``check``, each pass is also held to
its word: that it establishes what it says, keeps what held, makes a well-formed module, and leaves
its input as it was. Data of constants is not read for that, however many passes there are: bytes
never change, so the same object is the same data.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir import structural, verify
from reference_vm.ir.nodes import Module
from reference_vm.passes.context import Pass, PassContext, Property
from reference_vm.passes.properties import violation


class BrokenPass(AssertionError):
    """A pass broke its own contract; the program is not at fault."""


def run(module: Module, passes: Sequence[Pass], ctx: PassContext, *, check: bool = False) -> Module:
    """Return ``module`` after ``passes``.

    Raises:
        CompileError: The program is at fault, or lacks a property that a pass requires.
        BrokenPass: With ``check``: a pass did not do what it says.
    """
    known: set[Property] = set()
    done: list[str] = []
    fingerprints = structural.Fingerprints()
    for pass_ in passes:
        _require(module, pass_, known, ctx)
        before = fingerprints.of(module) if check else 0
        after = pass_.run(module, ctx)
        known |= pass_.requires | pass_.establishes
        done.append(pass_.name)
        if check:
            if fingerprints.of(module) != before:
                earlier = _earlier(done)
                raise BrokenPass(f"{pass_.name} changed its input; before it ran: {earlier}")
            _check_output(after, known, done, ctx)
        module = after
    return module


def _require(module: Module, pass_: Pass, known: set[Property], ctx: PassContext) -> None:
    for property_ in sorted(pass_.requires - known, key=list(Property).index):
        found = violation(property_, module, ctx)
        if found is not None:
            raise CompileError(catalog.missing_property(pass_.name, property_.value, found))


def _check_output(
    after: Module, known: set[Property], done: Sequence[str], ctx: PassContext
) -> None:
    malformed = verify.check(after)
    if malformed:
        raise BrokenPass(f"after {done[-1]} the module is malformed: {malformed[0]}")
    for property_ in sorted(known, key=list(Property).index):
        found = violation(property_, after, ctx)
        if found is not None:
            raise BrokenPass(
                f"after {done[-1]} the module is not {property_.value}: {found}; "
                f"before it ran: {_earlier(done)}"
            )


def _earlier(done: Sequence[str]) -> str:
    return ", ".join(done[:-1]) or "nothing"


__all__ = ["BrokenPass", "run"]
