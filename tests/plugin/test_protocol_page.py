"""The page on the protocol is enough by itself, and what it promises not to change does not."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from hettest import backend as exported
from hettest.backend import PROTOCOL, protocol
from hettest.backend.protocol import Copy, Execution, Memory, Observation, Reading, Timing
from hettest.limits import Limits
from hettest.probing.checking import findings
from hettest.probing.finding import State
from hettest.probing.vocabulary import vocabulary
from tests.unit.hettest.test_cli import hettest

PAGE = (Path(__file__).parents[2] / "docs/reference/protocol.md").read_text(encoding="utf-8")
BACKEND, SHOWN = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

FIRST = {
    "Copy": ("source", "target", "value", "bytes", "cause", "reader", "count"),
    "DeviceInfo": ("name", "kind", "index", "available", "reason", "memory_space"),
    "Execution": ("op", "defines", "device"),
    "Memory": ("start", "end", "peak"),
    "Observation": (
        *("results", "executions", "copies", "memory", "intermediates"),
        *("profile", "metered", "spaces"),
    ),
    "Options": ("policy", "default", "entry", "extra", "perturb", "purpose"),
    "Reading": ("launches", "copies_in", "copies_out", "bytes_in", "bytes_out"),
    "Timing": ("device", "seconds", "kind", "op", "count"),
}
"""The fields of protocol 1, in order. Nothing here is ever changed or taken away."""

METHODS = {
    ("Program", "onnx"): ("entry",),
    ("Program", "json"): (),
    ("Backend", "devices"): (),
    ("Backend", "compile"): ("program", "device_map", "options"),
    ("Backend", "close"): (),
    ("Executable", "run"): ("entry", "args", "mode"),
    ("OpensDevices", "open"): ("device",),
    ("TellsNotes", "notes"): (),
}
"""The parameters of protocol 1's methods."""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page's backend, by the name that it has on the page."""
    (tmp_path / "mine.py").write_text(BACKEND)
    monkeypatch.syspath_prepend(tmp_path)
    return "mine:Backend"


def test_its_backend_is_short_and_imports_nothing_else() -> None:
    imported = [node for node in ast.walk(ast.parse(BACKEND)) if isinstance(node, ast.Import)]
    taken = [node for node in ast.walk(ast.parse(BACKEND)) if isinstance(node, ast.ImportFrom)]

    assert len(BACKEND.splitlines()) < 82
    assert [alias.name for node in imported for alias in node.names] == ["numpy"]
    assert [node.module for node in taken] == ["hettest.backend"]


def test_its_backend_passes_every_check(mine: str) -> None:
    found = list(findings(mine, (), Limits()))

    assert [str(f) for f in found if f.state is State.FAILED] == []
    states = {f.check: f.state for f in found}
    assert states["placement"] is State.OK
    assert states["observations"] is State.OK


def test_its_backend_passes_what_it_claims(
    mine: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["dtypes/arithmetic", "placement", "--devices=cpu,npu", f"--backend={mine}"]

    ended = hettest(monkeypatch, "run", *chosen, "--no-isolate")

    printed = capsys.readouterr().out
    assert ended == 0, printed
    assert int(re.search(r"items: (\d+) passed", printed)[1]) > 20  # type: ignore[index]


def test_it_names_every_field_of_what_a_backend_shows() -> None:
    seen = eval(SHOWN, {**vars(protocol), "array": object()})

    assert isinstance(seen, Observation)
    for kind in (Observation, Execution, Copy, Memory, Reading, Timing):
        missing = [f.name for f in fields(kind) if f"`{f.name}`" not in PAGE]
        assert not missing, (kind, missing)


def test_it_names_every_word() -> None:
    words = {
        area: names for area, names in vocabulary().items() if area not in ("op", "dtype", "mode")
    }
    unknown = {"copy", "data-dependent"}
    """What needs no word, and what no program is found to need before it runs."""

    for area, names in words.items():
        table = [line for line in PAGE.splitlines() if line.startswith(f"| `{area}:")]
        for name in set(names) - unknown:
            assert any(f"`{area}:{name}`" in line or f"`{name}`" in line for line in table), name


def test_what_is_exported_is_what_the_protocol_defines() -> None:
    defined = [
        name
        for name, value in vars(protocol).items()
        if getattr(value, "__module__", None) == protocol.__name__ and inspect.isclass(value)
    ]

    assert sorted(exported.__all__) == sorted([*defined, "PROTOCOL"])


@pytest.mark.parametrize("kind", FIRST)
def test_fields_are_only_added_at_the_end_and_with_defaults(kind: str) -> None:
    now = fields(getattr(protocol, kind))
    before = FIRST[kind]

    assert PROTOCOL == 1
    assert tuple(f.name for f in now)[: len(before)] == before
    for added in now[len(before) :]:
        assert (added.default, added.default_factory) != (MISSING, MISSING), added.name


@pytest.mark.parametrize("place", METHODS, ids=".".join)
def test_methods_take_what_they_took(place: tuple[str, str]) -> None:
    owner, name = place

    taken = inspect.signature(getattr(getattr(protocol, owner), name)).parameters

    assert tuple(taken)[1:] == METHODS[place]


def test_enumerations_keep_their_members() -> None:
    assert protocol.Mode("direct") is protocol.Mode.DIRECT
    assert {"check", "time", "profile"} <= {purpose.value for purpose in protocol.Purpose}
    assert list(inspect.signature(protocol.Rejected).parameters) == [
        *("stage", "code", "line", "message"),
    ]
