"""The command that runs one test again, as it was run, from where the user stands."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from hettest.devicemap import show
from hettest.options import POLICIES
from hettest.session import KitSession


def line(item: pytest.Item, session: KitSession) -> str:
    """Return the command for a test of the user's own; items of the corpus have their own."""
    here = item.config.invocation_params.dir
    folder, node = _place(item, here)
    command = shlex.join(["pytest", node, *_of_pytest(item.config, here, folder), *_ours(session)])
    return (
        command
        if folder == here
        else f"cd {shlex.quote(os.path.relpath(folder, here))} && {command}"
    )


def _place(item: pytest.Item, here: Path) -> tuple[Path, str]:
    """Return the folder to stand in, and the id of the test from there.

    Pytest takes a bracket in a path for that of a parameter, so that such a folder must be entered.
    """
    file = next((n for n in item.listchain() if isinstance(n, pytest.File)), None)
    names = [node.name for node in item.listchain()]
    if file is None:
        return here, item.nodeid
    own = names[item.listchain().index(file) + 1 :]
    path = os.path.relpath(file.path, here)
    folder = file.path.parent if "[" in os.path.dirname(path) else here
    return folder, "::".join([Path(os.path.relpath(file.path, folder)).as_posix(), *own])


def _of_pytest(config: pytest.Config, here: Path, folder: Path) -> Iterator[str]:
    """Yield the options by which pytest finds its settings, its plugins and the test."""

    def from_there(path: str) -> str:
        return path if folder == here else os.path.relpath(here / path, folder)

    for option, name in (("-c", "inifilename"), ("--rootdir", "rootdir")):
        value = getattr(config.option, name, None)
        if value:
            yield f"{option}={from_there(str(value))}" if option.startswith("--") else option
            if not option.startswith("--"):
                yield from_there(str(value))
    for name in config.option.plugins if hasattr(config.option, "plugins") else ():
        if name != "no:terminal" or not hasattr(config, "workerinput"):
            yield f"-p{name}"
    for setting in getattr(config.option, "override_ini", None) or ():
        yield f"--override-ini={setting}"
    mode = getattr(config.option, "importmode", "prepend")
    if mode != "prepend":
        yield f"--import-mode={mode}"


def _ours(session: KitSession) -> Iterator[str]:
    """Yield the options of the kit; ``--devices`` may be that of somebody else."""
    asked = session.options
    if asked.devices:
        yield f"--het-devices={','.join(asked.devices)}"
    if asked.binding is not None:
        yield f"--het-device-map={show(asked.binding)}"
    yield f"--het-backend={asked.backend}"
    if asked.policy != POLICIES[0]:
        yield f"--het-policy={asked.policy}"
    if asked.seed:
        yield f"--het-seed={asked.seed}"
