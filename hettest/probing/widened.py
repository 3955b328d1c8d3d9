"""A backend that claims every operator and every dtype beside its own claims.

What it really does with those is what a probe wants to know. It is named as a backend is, by
`name_of`, so that it can be made in a process of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final
from urllib.parse import quote, unquote

from hettest.backend.discovery import load
from hettest.backend.protocol import Backend, DeviceInfo, Executable, Options, Program

WIDER = frozenset({"op:*", "dtype:*"})


def name_of(backend: str) -> str:
    """Return the name under which ``backend`` is loaded with wider claims."""
    return f"{__name__}:Widened:of={quote(backend, safe='')}"


def widened(claims: frozenset[str]) -> frozenset[str]:
    """Return claims with all operators and dtypes added, and none of these taken away."""
    kept = (claim for claim in claims if not claim.startswith(("-op:", "-dtype:")))
    return frozenset(kept) | WIDER


@final
class Widened:
    """The backend called ``of``, a name quoted as in addresses, with wider claims."""

    def __init__(self, of: str) -> None:
        self.inner: Backend = load(unquote(of))

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def capabilities(self) -> frozenset[str]:
        return widened(frozenset(self.inner.capabilities))

    def devices(self) -> Sequence[DeviceInfo]:
        return self.inner.devices()

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> Executable:
        return self.inner.compile(program, device_map, options)

    def close(self) -> None:
        self.inner.close()
