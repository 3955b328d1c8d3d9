"""Every message of the compiler and the runtime, one constructor per code.

The rest says *what* is wrong by calling a function of this module; how it is worded is decided
here. ``docs/reference/errors.md`` has a section for each code, and a test holds the two equal.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from reference_vm.diagnostics.diagnostic import Diagnostic
from reference_vm.source import Span


def _nearest(name: str, known: Sequence[str], otherwise: str) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else otherwise


def unknown_vdevice(name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    listed = ", ".join(f"@{k}" for k in known) or "none"
    return Diagnostic(
        code="unknown-vdevice",
        message=f"@{name} is not a virtual device of this module, which has {listed}",
        span=span,
        help=f"declare it at the top of the module: vdevice @{name}",
    )


def unknown_operator(name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="unknown-operator",
        message=f"{name} is not an operator",
        span=span,
        help=_nearest(name, known, "docs/reference/operators.md lists the operators"),
    )


def wrong_arity(op: str, found: int, least: int, most: int | None, span: Span | None) -> Diagnostic:
    if most is None:
        expected = f"{least} or more"
    else:
        expected = str(least) if least == most else f"{least} to {most}"
    return Diagnostic(
        code="wrong-arity",
        message=f"{op}: found {found} operand{'' if found == 1 else 's'}, expected {expected}",
        span=span,
    )


def missing_operand(op: str, operand: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="wrong-arity",
        message=f"{op}: operand {operand} is left out, but it is not optional",
        span=span,
    )


def unknown_attribute(op: str, name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    listed = ", ".join(known) or "none"
    return Diagnostic(
        code="unknown-attribute",
        message=f"{op}: has no attribute {name}; it has {listed}",
        span=span,
        help=_nearest(name, known, f"leave {name} out"),
    )


def missing_attribute(op: str, name: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="missing-attribute",
        message=f"{op}: attribute {name} has no default and is missing",
        span=span,
        help=f"write {name} = … after the operands",
    )


def attribute_type(
    op: str, name: str, found: object, expected: str, span: Span | None
) -> Diagnostic:
    return Diagnostic(
        code="attribute-type",
        message=f"{op}: attribute {name} is {found!r}, expected {expected}",
        span=span,
    )
