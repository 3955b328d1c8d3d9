"""What is wrong with a program, and the errors that carry it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from reference_vm.source import Span


@final
@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong, where, and what to do about it."""

    code: str
    """Stable and kebab-case, such as ``unknown-vdevice``; explained in docs/reference/errors.md."""

    message: str
    """What was found and what was expected, in one sentence."""

    span: Span | None = None
    help: str | None = None
    notes: tuple[tuple[str, Span | None], ...] = ()
    """Further places, each with what it has to do with the matter."""

    def __str__(self) -> str:
        return self.text("error")

    def text(self, severity: str) -> str:
        """Return it for people to read, as an ``error`` or a ``warning``."""
        lines = [f"{severity}[{self.code}]: {self.message}"]
        if self.span is not None:
            lines.append(self.span.picture())
        for text, span in self.notes:
            lines.append(f"  = note: {text}")
            if span is not None:
                lines.append(span.picture())
        if self.help:
            lines.append(f"  = help: {self.help}")
        return "\n".join(lines)


class DiagnosticError(Exception):
    """An error that consists of diagnostics; raised only at an edge, with all that were found."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))


@final
class CompileError(DiagnosticError):
    """The program is at fault, and was refused before it ran."""


@final
class ExecutionError(DiagnosticError):
    """A run failed; the session can be used again."""


class DataError(Exception):
    """What only the data could tell went wrong: an index out of range, a division by zero.

    Raised by kernels, which know neither line nor variable; the runtime adds both and raises an
    `ExecutionError`.
    """

    def __init__(self, code: str, message: str, help: str | None = None) -> None:  # noqa: A002 - the diagnostic's own word
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help
