"""Runs pytest in processes of their own that are forked from one where all is loaded.

What ends a process, or is asked of a whole one, needs a real one; that it loads pytest, the kit and
the small backend each time would take most of the time of such a test. The first run starts the
server; it ends with the tests.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, final

LOADED: Final = (
    *("pytest", "xdist.plugin", "pytest_benchmark.plugin", "hettest.plugin", "hettest.session"),
    *("hettest.corpus", "hettest.isolation.isolated", "hettest.runner", "hettest.expect"),
    *("hettest.report.json_report", "hettest.report.text", "hettest.tested", "hettest.language"),
    *("execnet.multi", "unittest", "xml.etree.ElementTree"),
    "tests.unit.hettest.fake_backend",
)


@final
class Server:
    """The process that forks, as the tests see it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            text=True,
        )
        atexit.register(self.end)

    def run(self, args: Sequence[str], folder: Path, env: Mapping[str, str], output: Path) -> int:
        """Run pytest, its output to a file; return the exit code, or minus the signal."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"args": args, "folder": str(folder), "env": env, "output": str(output)}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return os.waitstatus_to_exitcode(int(self.process.stdout.readline()))

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@cache
def server() -> Server:
    return Server()


def become_pytest(request: Mapping[str, Any]) -> None:
    """Do in this process, a forked one, what ``python -m pytest`` does in a new one."""
    out = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, to in ((nothing, 0), (out, 1), (out, 2)):
        os.dup2(descriptor, to)
    os.close(out)
    os.close(nothing)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["folder"])
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [os.getcwd(), *paths, *(p for p in sys.path[1:] if p not in paths)]
    sys.argv[1:] = request["args"]
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)


def serve() -> None:
    """Fork a process for each line that is read, and write how it ended."""
    for name in LOADED:
        __import__(name)
    sys.modules["hettest.language"].operators()  # builds the table that each would build
    replies = os.fdopen(os.dup(1), "w")
    requests = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 - to the very end
    while line := requests.readline():
        child = os.fork()
        if child == 0:
            replies.close()
            become_pytest(json.loads(line))
            return
        replies.write(f"{os.waitpid(child, 0)[1]}\n")
        replies.flush()


if __name__ == "__main__":
    serve()
