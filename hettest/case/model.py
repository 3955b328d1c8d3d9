"""What a case file says, sweep names filled in. See docs/reference/case-format.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, Union, final

from hettest.devicemap import Bind

_MARKED = re.compile(r"[ \t]*//~[^\n]*")

ORACLE = "oracle"
"""In place of a result: judge by the oracle's."""


@final
@dataclass(frozen=True, slots=True)
class Random:
    """Numbers that any language can make: see `case.tensors.random_elements`."""

    seed: int
    low: float
    high: float


@final
@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor written down in a case, in one of six ways."""

    dtype: str
    shape: tuple[int, ...]
    data: tuple[float | int | bool, ...] | None = None
    """In row-major order."""

    hex: str | None = None
    """Little-endian bytes."""

    file: str | None = None
    """An ``.npy`` file beside the case."""

    random: Random | None = None
    fill: float | int | bool | None = None
    """Every element."""

    cycle: str | None = None
    """A table of `case.tables`, whose numbers are the elements, over and over."""

    line: int | None = field(default=None, compare=False)


Written: TypeAlias = Union[Tensor, str, tuple["Written", ...]]
"""A tensor, or a tuple of values, nested as the program says. A value of a data type is a tuple
that begins with its constructor's name."""


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on a count; ``None`` where nothing is claimed."""

    exact: int | None = None
    at_least: int | None = None
    at_most: int | None = None

    def admits(self, found: int) -> bool:
        if self.exact is not None and found != self.exact:
            return False
        if self.at_least is not None and found < self.at_least:
            return False
        return self.at_most is None or found <= self.at_most

    def __bool__(self) -> bool:
        return (self.exact, self.at_least, self.at_most) != (None, None, None)

    def __str__(self) -> str:
        if self.exact is not None:
            return f"exactly {self.exact}"
        least = [] if self.at_least is None else [f"at least {self.at_least}"]
        most = [] if self.at_most is None else [f"at most {self.at_most}"]
        return " and ".join(least + most) or "any number"


@final
@dataclass(frozen=True, slots=True)
class Counts:
    """What is expected of a number of transfers and of their bytes, by policy."""

    number: Mapping[str, Limits]
    bytes: Mapping[str, Limits]
    line: int | None = field(default=None, compare=False)


@final
@dataclass(frozen=True, slots=True)
class Values:
    """How closely results are compared, where that is not the default."""

    ulps: float | None = None
    """A looser bound, in units in the last place; only with a reason, which is printed."""

    reason: str | None = None
    signed_zeros: bool = False
    """Whether 0.0 and -0.0 differ."""


@final
@dataclass(frozen=True, slots=True)
class Expect:
    """What must be observable beside the results."""

    placement: Mapping[str, str] = field(default_factory=dict)
    """The role that each named variable was computed on; ``s`` is ``main/%s``, ``f/s`` ``f/%s``."""

    copies: Counts | None = None
    moved: Counts | None = None
    values: Values = Values()
    placement_line: int | None = field(default=None, compare=False)


@final
@dataclass(frozen=True, slots=True)
class Run:
    """One run of the program: arguments, and the result or the error."""

    name: str
    args: Mapping[str, Written]
    """By parameter name."""

    result: Written | str | None
    """What comes back; `ORACLE` to judge by the oracle; ``None`` if ``error`` is given."""

    error: str | None = None
    """The code of the error that the data cause."""

    entry: str = "main"
    after: str | None = None
    """The run that the same executable makes before, unjudged; ``None``: this one is the first."""

    advisory: str | None = None
    """Which pin of ours alone the result rests on; binding only for who claims our pins."""

    line: int | None = field(default=None, compare=False)


@final
@dataclass(frozen=True, slots=True)
class Marker:
    """``//~ code``: this diagnostic is expected on that line."""

    code: str
    line: int
    """In the program's text, from 1."""


@final
@dataclass(frozen=True, slots=True)
class Case:
    """One case file under one combination of its sweep."""

    id: str
    """The path under ``cases/`` without its ending: ``placement/shared_input``."""

    path: Path
    summary: str
    level: int
    clauses: tuple[str, ...]
    requires: tuple[str, ...]
    origin: str | None
    policies: tuple[str, ...]
    bind: Bind
    default: str | None
    """The role whose device is the default; ``None`` for the first device."""

    unbound: tuple[str, ...]
    """Roles that the device map leaves out."""

    program: str
    program_line: int
    """The line of the file that holds the program's first."""

    runs: tuple[Run, ...]
    expect: Expect
    markers: tuple[Marker, ...]
    swept: tuple[str, ...] = ()
    """The sweep's combination, as in ids: ``dtype=f32``."""

    fault: str | None = None
    """The kind of fault that it would find, as in ``fault_classes.toml``: ``C24``."""

    @property
    def text(self) -> str:
        """The program as implementations get it: each line where it was, without markers."""
        return _MARKED.sub("", self.program)

    def run_before(self, run: Run) -> Run | None:
        """Return the run that comes before ``run`` on the same executable."""
        return next((r for r in self.runs if r.name == run.after), None)

    @property
    def refused(self) -> bool:
        """Whether the program must be refused before it runs."""
        return bool(self.markers) and not self.runs

    def file_line(self, program_line: int) -> int:
        """Return the line of the case file that holds ``program_line`` of the program."""
        return self.program_line + program_line - 1
