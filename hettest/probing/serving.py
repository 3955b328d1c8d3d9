"""What is asked in the backend's own process: one check at a time."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from typing import Any

from hettest.backend import progress
from hettest.backend.guard import named
from hettest.errors import BackendCrash, ProtocolBreach, UsageError
from hettest.isolation.host import Host
from hettest.probing.check_catalog import CHECKS, Check
from hettest.probing.finding import Failed, Finding, NotApplicable, NotRun, State
from hettest.probing.specimen import Specimen

HERE = f"{__name__}:check"


def check(host: Host, number: int, devices: list[str]) -> dict[str, Any]:
    """Make one check.

    Args:
        host: The process's backend, as it was asked for.
        number: Which of `CHECKS`.
        devices: The devices to check; empty for the backend's own choice.

    Returns:
        The finding, and what was printed on standard output meanwhile.
    """
    output = _own_output()
    chosen = CHECKS[number]
    progress.step(f"check: {chosen.name}")
    found = finding_of(chosen, _specimen(host.asked.backend, tuple(devices)))
    sys.stdout.flush()
    return {"finding": found.to_json(), "printed": _taken(output)}


def finding_of(check: Check, specimen: Specimen) -> Finding:
    """Make one check in this process; whatever the backend raises is what was found."""
    try:
        return Finding(check.name, State.OK, check.make(specimen))
    except NotApplicable as reason:
        return Finding(check.name, State.NOT_APPLICABLE, str(reason))
    except NotRun as reason:
        return Finding(check.name, State.NOT_RUN, str(reason))
    except (Failed, UsageError, BackendCrash, ProtocolBreach) as wrong:
        return Finding(check.name, State.FAILED, str(wrong))
    except BaseException as error:  # what a property or an array of the backend raised
        return Finding(check.name, State.FAILED, f"raised {named(error)}")


@cache
def _specimen(name: str, devices: tuple[str, ...]) -> Specimen:
    return Specimen(name, devices)


@cache
def _own_output() -> int:
    """Let standard output go to a file of its own, and return that file's descriptor."""
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        os.dup2(file.fileno(), 1)
    return 1


def _taken(output: int) -> str:
    """Return what has been printed since this was last asked."""
    size = os.fstat(output).st_size
    text = os.pread(output, size, 0) if size else b""
    os.ftruncate(output, 0)
    os.lseek(output, 0, os.SEEK_SET)
    return text[:2000].decode("utf-8", "replace")
