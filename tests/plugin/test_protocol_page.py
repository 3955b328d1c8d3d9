"""The page on the protocol is enough by itself: its backend runs as it stands."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from hettest.backend import protocol
from hettest.backend.protocol import Copy, Execution, Memory, Observation
from hettest.cli import main as command

PAGE = (Path(__file__).parents[2] / "docs/reference/protocol.md").read_text(encoding="utf-8")
BACKEND, SHOWN = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_its_backend_is_short_and_passes_what_it_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(BACKEND)
    monkeypatch.syspath_prepend(tmp_path)
    chosen = ["ops/add", "ops/relu", "--devices=cpu", "--backend=mine:Backend"]
    monkeypatch.setattr("sys.argv", ["hettest", "run", *chosen])

    with pytest.raises(SystemExit) as ended:
        command.main()

    printed = capsys.readouterr().out
    assert ended.value.code == 0, printed
    assert int(re.search(r"items: (\d+) passed", printed)[1]) > 1  # type: ignore[index]
    assert len(BACKEND.splitlines()) < 80


def test_it_names_every_field_of_what_a_backend_shows() -> None:
    array = object()

    seen = eval(SHOWN, {**vars(protocol), "array": array})

    assert isinstance(seen, Observation)
    for kind in (Observation, Execution, Copy, Memory):
        missing = [f.name for f in fields(kind) if f"`{f.name}`" not in PAGE]
        assert not missing, (kind, missing)
