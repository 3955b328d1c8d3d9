"""What the kit tells its user is wrong with what they asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final


class HettestError(Exception):
    """The kit cannot do what was asked; the message says why and what to do."""


@final
class UsageError(HettestError):
    """An option or an argument is wrong."""


@final
class MissingDevice(HettestError):
    """A device that a test asks for is not there; names it and says exactly why."""


@final
class BackendCrash(HettestError):
    """The implementation raised something other than a rejection, which is the error's cause."""

    def __init__(self, message: str, reason: str = "", frames: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        """What it raised, in one line, where that was in another process; else empty."""

        self.frames = frames
        """Its traceback there."""


@final
class ProtocolBreach(HettestError):
    """The implementation returned something that the protocol does not have."""


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file, in the form that editors can jump to."""

    file: str
    line: int | None
    where: str
    """The key at fault, ``run[0].args.a``; empty for the whole file."""

    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return (
            f"{place}: {self.where}: {self.message}" if self.where else f"{place}: {self.message}"
        )


@final
class CaseError(HettestError):
    """A case file is malformed."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)
