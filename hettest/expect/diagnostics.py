"""A program or data at fault is refused, with the right code at the right line.

The line is compared if the backend claims ``diagnostics:line``, the code if it claims
``diagnostics:codes``. An error that depends on data must be reported by a backend that claims
``diagnostics:data``; any other one need only survive it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hettest.backend.protocol import Rejected
from hettest.capability import missing
from hettest.case.model import Case, Marker
from hettest.outcome import Clause, Status

BEFORE_RUN = ("parse", "verify", "compile")


def refusal(case: Case, found: Rejected | None, claims: Collection[str]) -> Clause:
    """Return whether the program was refused as its markers say.

    Args:
        case: Its markers are what is expected.
        found: The refusal; ``None`` if the program was accepted.
        claims: The backend's capabilities.
    """
    if found is None:
        return _failed(case, case.markers[:1], "the program was accepted")
    if found.stage not in BEFORE_RUN:
        return _failed(case, case.markers[:1], f"the program was refused only at {found.stage}")
    return _compare(case, case.markers, found, claims)


def data_error(case: Case, code: str, found: Rejected | None, claims: Collection[str]) -> Clause:
    """Return whether the run ended in the error that the data cause."""
    markers = tuple(m for m in case.markers if m.code == code)
    if missing(["diagnostics:data"], claims):
        ending = "with a refusal" if found is not None else "with results"
        return Clause("diagnostics", Status.PROVEN, f"survived, {ending}", _line(case, markers))
    if found is None:
        return _failed(case, markers, f"the run ended with results, expected the error {code}")
    return _compare(case, markers or (Marker(code, 0),), found, claims)


def unexpected(case: Case | None, found: Rejected) -> Clause:
    """Return the clause for a refusal of a program that should run."""
    line = found.line if case is None or found.line is None else case.file_line(found.line)
    code = f" with {found.code}" if found.code else ""
    detail = f"refused at {found.stage}{code}, expected to be accepted: {found}"
    return Clause("diagnostics", Status.FAILED, detail, line)


def _compare(
    case: Case, markers: Sequence[Marker], found: Rejected, claims: Collection[str]
) -> Clause:
    codes = not missing(["diagnostics:codes"], claims)
    lines = not missing(["diagnostics:line"], claims)
    for marker in markers:
        right_code = not codes or found.code == marker.code
        right_line = not lines or marker.line == 0 or found.line == marker.line
        if right_code and right_line:
            detail = f"refused at {found.stage}: {found.code or 'no code given'}"
            return Clause("diagnostics", Status.PROVEN, detail, _line(case, markers))
    place = "" if found.line is None else f" on line {case.file_line(found.line)}"
    return _failed(case, markers, f"found {found.code or 'no code'}{place} ({found})")


def _failed(case: Case, markers: Sequence[Marker], found: str) -> Clause:
    expected = " or ".join(
        m.code + (f" on line {case.file_line(m.line)}" if m.line else "") for m in markers
    )
    detail = f"{found}, expected {expected}" if expected else found
    return Clause("diagnostics", Status.FAILED, detail, _line(case, markers))


def _line(case: Case, markers: Sequence[Marker]) -> int | None:
    lines = [m.line for m in markers if m.line]
    return case.file_line(lines[0]) if lines else None
