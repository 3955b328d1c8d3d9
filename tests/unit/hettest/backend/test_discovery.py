"""A backend that cannot be loaded says where it raised."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hettest.backend.discovery import load
from hettest.errors import UsageError

RAISING = """\
class Broken:
    def __init__(self):
        self.connect()

    def connect(self):
        raise {error}
"""


@pytest.mark.parametrize("error", ["RuntimeError('no socket')", "AttributeError('no socket')"])
def test_a_constructor_that_raises_is_located(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    module = f"raising_{error[:4].lower()}"
    file = tmp_path / f"{module}.py"
    file.write_text(RAISING.format(error=error))
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(UsageError, match=re.escape(f"no socket, raised at {file}:6 in connect")):
        load(f"{module}:Broken")


@pytest.mark.parametrize("name", ["no.such.module:Backend", "hettest.errors:Nothing"])
def test_what_is_not_there_has_no_place(name: str) -> None:
    with pytest.raises(UsageError) as found:
        load(name)

    assert "raised at" not in str(found.value)


def test_a_class_that_a_function_returns_is_no_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lazy_one.py").write_text(
        "from tests.unit.hettest.fake_backend import Backend\ndef make(): return Backend\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(UsageError, match="found the class Backend, expected a backend that was"):
        load("lazy_one:make")
