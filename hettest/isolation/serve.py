"""What an isolated process runs: it loads the backend, and answers until the kit hangs up.

A question is a pickled tuple, an answer is JSON: the process may be broken, so nothing that it
sends is ever executed. Its own output goes to a file, not to the pipe. Rooms above have questions
of their own, ``("call", "module:function", …)``: a function that takes the backend's `InProcess`,
and returns what JSON can say.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import signal
import sys
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from hettest.backend import progress
from hettest.backend.guard import named
from hettest.errors import BackendCrash, UsageError
from hettest.runner import run  # noqa: F401 - loaded before the first item's time begins
from hettest.runner.subject import InProcess

WHERE = signal.SIGUSR1
"""Makes the process print what each of its threads is doing."""


def main(pipe: int, box: int) -> None:
    """Answer at the other end of the pipe; both are file descriptors."""
    for descriptor in (pipe, box):
        os.set_inheritable(descriptor, False)  # else a child of the backend keeps the pipe open
    faulthandler.enable()
    faulthandler.register(WHERE, all_threads=True)
    progress.record_to(mmap.mmap(box, progress.SIZE))
    _serve(Connection(pipe))


def _serve(pipe: Connection) -> None:
    asked, seconds = pipe.recv()
    subject, process = InProcess(asked), os.getpid()
    while True:
        try:
            question = pipe.recv()
        except EOFError:
            return
        faulthandler.dump_traceback_later(seconds, exit=True)  # should nobody be left to end it
        answer = json.dumps(_answer(subject, question))
        faulthandler.cancel_dump_traceback_later()
        if os.getpid() != process:
            os._exit(1)  # the backend forked, and this is its copy of the kit
        sys.stdout.flush()
        sys.stderr.flush()
        pipe.send_bytes(answer.encode())


def _answer(subject: InProcess, question: tuple[Any, ...]) -> dict[str, Any]:
    try:
        match question:
            case ("facts",):
                progress.step("load the backend and ask for its devices")
                return {"facts": subject.facts.to_json()}
            case ("run", item):
                return {"record": subject.run(item).to_json()}
            case ("call", str(place), *args):
                module, _, function = place.partition(":")
                return {"value": getattr(import_module(module), function)(subject, *args)}
            case _:
                progress.step("close the backend")
                subject.close()
                return {}
    except UsageError as error:
        return {"usage": str(error)}
    except BackendCrash as crash:
        return {"crash": str(crash)}
    except BaseException as error:  # the user's interrupt does not come here: it is the backend's
        return {"crash": f"raised {named(error)}"}
