"""What the controller of a distributed run must know of its workers, as plain data.

A worker says twice what it selected: in a file, as soon as it has collected, which is there even
if it dies in its first test; and at its end, in what pytest-xdist returns of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

import pytest

from hettest.errors import UsageError
from hettest.files import write_text
from hettest.session import KEY, KitSession

_FOLDER: Final = "hettest_folder"
"""In the input of a worker: the folder for its file."""

OUTPUT: Final = "hettest"
"""In the output of a worker: what `output_of` returns."""


def output_of(kit: KitSession) -> dict[str, Any]:
    """Return what a worker knows, for `merge`."""
    used = "tested" in kit.__dict__
    return {
        "selected": [
            [i, level, kit.ledger.due.get(i, 1)] for i, level in kit.ledger.selected.items()
        ],
        "deselected": dict(kit.ledger.deselected),
        "nodes": dict(kit.nodes),
        "process": os.getpid(),
        "crash": kit.crash,
        "usage": kit.usage,
        "offered": kit.offered,
        "left_out": kit.left_out,
        "claims": list(kit.tested.claims if used else kit.claims),
        "unopened": kit.unopened,
        "waivers": None if kit.own_waivers is None else str(kit.own_waivers),
    }


def announce(config: pytest.Config) -> None:
    """Let the controller know what this process is to run, if it is a worker."""
    given: Mapping[str, Any] = getattr(config, "workerinput", {})
    if _FOLDER not in given:
        return
    path = Path(given[_FOLDER], f"{given['workerid']}.json")
    with suppress(UsageError):  # a worker elsewhere, or a full disk: the controller says so
        write_text(path, json.dumps(output_of(config.stash[KEY])))


def merge(kit: KitSession, output: Mapping[str, Any], times: int = 1) -> None:
    """Take over what a worker knows; every worker collects the same items.

    Args:
        kit: The controller's session.
        output: Of one worker.
        times: How many workers run each item.
    """
    for item, level, often in output["selected"]:
        kit.ledger.select(item, level, often * times)
    kit.ledger.deselected.update(output["deselected"])
    kit.nodes.update(output["nodes"])
    kit.crash = kit.crash or output["crash"]
    kit.usage = kit.usage or output["usage"]
    kit.offered, kit.left_out = output["offered"], output["left_out"]
    kit.claims = kit.claims or tuple(output["claims"])
    kit.unopened = "" if kit.claims else kit.unopened or output["unopened"]
    if output["waivers"] is not None:
        kit.own_waivers = Path(output["waivers"])


@final
@dataclass(eq=False)  # pytest takes a plugin for a key
class Controller:
    """A plugin in the controller of a distributed run: it keeps the count."""

    kit: KitSession
    _folder: Path | None = None
    _times: int = 1
    _started: list[str] = field(default_factory=list)
    _ended: set[str] = field(default_factory=set)
    _known: set[str] = field(default_factory=set)
    """The workers that said what they are to run."""

    _lost: dict[str, str] = field(default_factory=dict)
    """The workers that died, with what is known of it."""

    _blamed: set[str] = field(default_factory=set)
    """The workers whose death counts as the end of an item."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config, specs: Sequence[object]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="hettest-workers-"))
        self._times = len(specs) if config.getoption("dist", "") == "each" else 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        self._started.append(node.gateway.id)
        if self._folder is not None:
            node.workerinput[_FOLDER] = str(self._folder)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        self._ended.add(node.gateway.id)
        output = getattr(node, "workeroutput", None) or {}
        if OUTPUT in output:
            self._known.add(node.gateway.id)
            merge(self.kit, output[OUTPUT], self._times)
        elif error:
            self._lost[node.gateway.id] = str(error).strip().splitlines()[-1]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        node = getattr(report, "node", None)
        if node is not None and report.when not in ("setup", "call", "teardown"):
            self._blamed.add(node.gateway.id)

    @property
    def is_distributed(self) -> bool:
        return bool(self._started)

    def terminate(self, number: int = signal.SIGTERM) -> None:
        """Send a signal to the workers that still run, with which they end all that they began."""
        for worker in self._started:
            if worker not in self._ended:
                with suppress(ProcessLookupError, PermissionError, OSError, ValueError, KeyError):
                    os.kill(int(self._written(worker)["process"]), number)

    def settle(self) -> None:
        """Take over what the workers wrote that did not end in order, and say who was lost."""
        for worker in self._started:
            self._read(worker)
        if self._lost:
            self.kit.cut = self.kit.cut or f"worker {next(reversed(self._lost))} died"
        for worker, how in self._lost.items():
            if worker not in self._known:
                lost = f"worker {worker} died ({how}), and what it was to run is not known"
                self.kit.unfinished.append(lost)
            elif worker not in self._blamed:
                self.kit.crash = self.kit.crash or f"worker {worker} died outside of tests: {how}"
        if self._started and not self._known and not self.kit.unfinished:
            self.kit.unfinished.append("no worker lived to say what it was to run")

    def pytest_unconfigure(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self, worker: str) -> None:
        if worker in self._known:
            return
        with suppress(OSError, ValueError):  # not there: it says nothing, or is not of this machine
            merge(self.kit, self._written(worker), self._times)
            self._known.add(worker)

    def _written(self, worker: str) -> dict[str, Any]:
        """Return what a worker wrote when it had collected.

        Raises:
            OSError: There is nothing.
        """
        if self._folder is None:
            raise FileNotFoundError(worker)
        found: dict[str, Any] = json.loads((self._folder / f"{worker}.json").read_text("utf-8"))
        return found
