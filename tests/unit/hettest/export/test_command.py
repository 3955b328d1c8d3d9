"""``hettest export`` says what it wrote, and names all that it did not."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.unit.hettest.case.written import PROGRAM, text, write
from tests.unit.hettest.test_cli import hettest

REFUSED = PROGRAM.replace("@accel\n    %d", "@gpu //~ unknown-vdevice\n    %d")


@pytest.fixture
def cases(tmp_path: Path) -> str:
    write(tmp_path / "cases", text(tail="[expect.moved]\nexact = 3\n"), "area/sound.toml")
    write(tmp_path / "cases", text(program=REFUSED, run=""), "area/refused.toml")
    return f"--cases={tmp_path / 'cases'}"


def test_json_holds_every_item(
    cases: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"

    assert hettest(monkeypatch, "export", cases, "--format=json", f"--out={out}") == 0

    assert f"exported: 2 items of 2 cases to {out}; not exported: 0" in capsys.readouterr().out
    index = json.loads((out / "index.json").read_text())
    assert [(c["file"], c["items"]) for c in index["cases"]] == [
        ("cases/area/refused.json", 1),
        ("cases/area/sound.json", 1),
    ]


def test_onnx_lists_what_it_cannot_say(
    cases: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"

    assert hettest(monkeypatch, "export", cases, "--format=onnx", f"--out={out}") == 0

    told = capsys.readouterr().out
    assert "not exported: 1: the layout has no word for programs that must be refused" in told
    assert "exported without: 1: the numbers of transfers" in told
    assert "exported without: 1: the place of a result" in told
    index = json.loads((out / "index.json").read_text())
    assert [each["item"] for each in index["not_exported"]] == [
        "area/refused[refused,host=cpu:0,accel=sim:0,policy=copy]"
    ]
    (model,) = index["models"]
    files = sorted(p.relative_to(out / model["folder"]) for p in (out / model["folder"]).rglob("*"))
    assert [str(f) for f in files] == [
        "model.onnx",
        "test_data_set_0",
        "test_data_set_0/input_0.pb",
        "test_data_set_0/input_1.pb",
        "test_data_set_0/output_0.pb",
    ]
    output = onnx.TensorProto.FromString(
        (out / model["folder"] / "test_data_set_0" / "output_0.pb").read_bytes()
    )
    assert onnx.numpy_helper.to_array(output).tolist() == [1, -4, -11, -20]


def test_the_list_is_printed_as_json(
    cases: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = f"--out={tmp_path / 'out'}"

    assert hettest(monkeypatch, "export", cases, "area/sound", "--format=onnx", out, "--json") == 0

    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "out" / "index.json").read_text())


def test_wrong_usage_ends_with_2(
    cases: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "a").touch()

    assert hettest(monkeypatch, "export", cases, "--format=json", f"--out={taken}") == 2
    assert "expected an empty folder" in capsys.readouterr().err
    assert hettest(monkeypatch, "export", cases, "--format=yaml", f"--out={tmp_path / 'x'}") == 2
    assert hettest(monkeypatch, "export", cases, "no/case", "--format=json", "--out=x") == 2
    assert "no item matches no/case" in capsys.readouterr().err
