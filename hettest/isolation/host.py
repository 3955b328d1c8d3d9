"""The backend in its own process: what it is asked, and what it lets be seen; nothing is judged.

What belongs to one item, programs compiled and arrays of runs, is kept until it is let go of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, final

from hettest.backend import exact, progress
from hettest.backend.calls import claims_of, compiled, observed
from hettest.backend.discovery import load
from hettest.backend.facts import facts_of, notes_of
from hettest.backend.guard import crashes, frames_of, named
from hettest.backend.nesting import copied, leaves
from hettest.backend.ownership import Kept, ownership
from hettest.backend.protocol import Backend, Executable, Observation, Options, Rejected
from hettest.errors import BackendCrash, ProtocolBreach, UsageError
from hettest.isolation import observations
from hettest.isolation.frames import LONGEST_ARRAYS
from hettest.limits import show_bytes
from hettest.runner.asked import Asked
from hettest.runner.program import TextProgram

if TYPE_CHECKING:
    from hettest.backend.protocol import Array, Value

Said = tuple[dict[str, Any], list["Array"]]
"""Plain data, and the arrays that it names."""


@final
@dataclass
class Host:
    """A backend, loaded when it is first needed, and what one item has made of it."""

    asked: Asked
    _programs: dict[tuple[str, str], TextProgram] = field(default_factory=dict)
    _executables: list[Executable] = field(default_factory=list)
    _runs: list[Kept] = field(default_factory=list)
    _claimed: frozenset[str] | None = None
    """What the kit was last told that is claimed."""

    @cached_property
    def backend(self) -> Backend:
        """The backend itself.

        Raises:
            UsageError: It cannot be loaded.
        """
        return load(self.asked.backend)

    def answer(self, question: tuple[Any, ...]) -> Said:
        """Return the answer to a question, whatever the backend does meanwhile, short of dying."""
        try:
            kind, *rest = question
            data, arrays = self._doors[kind](*rest)
            return {**data, **self._changed_claims(kind)}, arrays
        except Rejected as rejected:
            message = _short(str(rejected))
            parts = {"stage": rejected.stage, "code": rejected.code, "line": rejected.line}
            return {"rejected": {**parts, "message": message}}, []
        except UsageError as error:
            return {"usage": _short(str(error))}, []
        except ProtocolBreach as breach:
            return {"breach": _short(str(breach))}, []
        except BackendCrash as wrong:
            cause = wrong.__cause__ or wrong
            return crash(str(wrong), named(cause), frames_of(cause)), []
        except BaseException as error:  # an interrupt of the user does not come here
            said = f"raised {named(error)}"
            return crash(said), []

    @cached_property
    def _doors(self) -> Mapping[str, Callable[..., Said]]:
        return {
            "facts": self._facts,
            "notes": self._notes,
            "compile": self._compile,
            "run": self._run,
            "ownership": self._ownership,
            "let go": self._let_go,
            "call": self._call,
            "close": self._close,
        }

    def _changed_claims(self, kind: str) -> dict[str, Any]:
        """Return what is claimed by now, if the kit knows otherwise."""
        if kind not in ("facts", "compile", "run"):
            return {}
        now = claims_of(self.backend)
        if now == self._claimed:
            return {}
        self._claimed = now
        return {"claims": sorted(now)}

    def _facts(self) -> Said:
        progress.step("load the backend and ask for its devices")
        return {"facts": facts_of(self.backend).to_json()}, []

    def _notes(self) -> Said:
        progress.step("ask the backend for its notes")
        return {"notes": list(notes_of(self.backend))}, []

    def _compile(
        self, name: str, text: str, device_map: Mapping[str, str], options: Options
    ) -> Said:
        program = self._programs.setdefault((name, text), TextProgram(name, text))
        self._executables.append(compiled(self.backend, program, device_map, options))
        return {"compiled": len(self._executables) - 1}, []

    def _run(self, executable: int, entry: str, args: tuple[Value, ...]) -> Said:
        before = copied(args)
        seen = observed(self._executables[executable], entry, args)
        _require_small(seen)
        with crashes("what run() returned"):
            self._runs.append(Kept.of(args, before, seen.results))
            data, arrays = observations.to_json(seen)
        return {"ran": len(self._runs) - 1, **data}, arrays

    def _ownership(self, run: int, earlier: int | None) -> Said:
        progress.step("look at the arguments once more")
        found = ownership(self._runs[run], None if earlier is None else self._runs[earlier])
        over = found.overwritten
        return {
            "written": sorted(found.written),
            "shared": sorted(map(list, found.shared)),
            "overwritten": None if over is None else sorted(over),
        }, []

    def _let_go(self) -> Said:
        progress.step("let go of what was compiled")
        self._runs.clear()
        self._executables.clear()
        self._programs.clear()
        return {}, []

    def _call(self, place: str, *args: Any) -> Said:
        module, _, function = place.partition(":")
        return {"value": getattr(import_module(module), function)(self, *args)}, []

    def _close(self) -> Said:
        progress.step("close the backend")
        if "backend" in self.__dict__:
            with crashes(f"{self.asked.backend}.close()"):
                self.backend.close()
        return {}, []


def _require_small(seen: Observation) -> None:
    """Find out whether arrays can be sent, before they are brought together element by element.

    Raises:
        ProtocolBreach: They cannot: one that repeats an element is as large as it says.
    """
    arrays = (*leaves(seen.results), *(seen.intermediates or {}).values())
    size = sum(array.nbytes for array in arrays)
    if size > LONGEST_ARRAYS:
        raise ProtocolBreach(
            f"run() returned an observation whose arrays take {show_bytes(size)}, "
            f"at most {show_bytes(LONGEST_ARRAYS)} can be sent"
        )


def crash(message: str, reason: str = "", frames: str = "") -> dict[str, Any]:
    """Return how an answer says that the backend raised something."""
    parts = {"message": message, "reason": reason or message, "frames": frames}
    return {"crash": {name: _short(text) for name, text in parts.items()}}


def _short(text: str) -> str:
    return exact.cut(text, exact.LONGEST_MESSAGE)
