"""No text that leaves the kit holds what a report, a file or a terminal cannot show."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hettest.files import (
    cleaned,
    escaped,
    file_name,
    finite,
    json_text,
    one_line,
    printable,
    toml_string,
)
from hettest.files.text import LONGEST, MOST
from hettest.outcome import Outcome
from tests.unit.hettest.files.hostile_text import NASTY, hidden, texts


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tof it", "two\nlines\tof it"),
        ("ends\r\nas elsewhere", "ends\nas elsewhere"),
        ("half \ud800 a pair", r"half \ud800 a pair"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("user\u202egnp.exe", r"user\u202egnp.exe"),
        ("a\u2028b", r"a\u2028b"),
        ("\U000e0041", r"\U000e0041"),
        ("naïve 日本 👩‍🚀", "naïve 日本 👩‍🚀"),
    ],
)
def test_what_cannot_be_shown_is_written_as_python_writes_it(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(texts())
def test_nothing_hidden_is_left_and_cleaning_twice_changes_nothing(text: str) -> None:
    shown = printable(text)

    assert not hidden(shown)
    assert printable(shown) == shown
    assert "\n" not in one_line(text)
    assert one_line(one_line(text)) == one_line(text)
    assert not hidden(escaped(text))
    shown.encode()


@given(st.sampled_from([LONGEST - 1, LONGEST, LONGEST + 1, 3 * LONGEST]), st.integers(1, 4))
@settings(max_examples=20)
def test_a_line_that_is_too_long_keeps_its_ends(length: int, lines: int) -> None:
    text = "\n".join(f"<{'x' * (length - 2)}>" for _ in range(lines))

    shown = printable(text)

    assert max(map(len, shown.split("\n"))) <= LONGEST
    assert shown.count("\n") == lines - 1
    assert shown.startswith("<x")
    assert shown.endswith("x>")
    assert ("characters more" in shown) is (length > LONGEST)
    assert printable(shown) == shown


@pytest.mark.parametrize("unit", ["x", "\ud800", "\n", "x" * 5000 + "\n", "\x1b[31m", "\r\n"])
def test_a_text_of_megabytes_is_cut(unit: str) -> None:
    shown = printable(unit * (3 * MOST // len(unit)))

    assert len(shown) <= MOST
    assert printable(shown) == shown


@dataclass(frozen=True, slots=True)
class Inner:
    text: str
    outcome: Outcome = Outcome.FAILED
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outer:
    inner: Inner
    by_name: dict[str, list[Any]] = field(default_factory=dict)


def test_every_text_of_plain_data_and_dataclasses_is_cleaned() -> None:
    found = cleaned(
        Outer(Inner("\ud800", words=("\x00",)), {"\x01": [1, None, 2.5, PurePosixPath("\x02")]})
    )

    assert found == Outer(
        Inner(r"\ud800", words=(r"\x00",)), {r"\x01": [1, None, 2.5, PurePosixPath(r"\x02")]}
    )
    assert found.inner.outcome is Outcome.FAILED


def test_what_is_clean_stays_the_same_object() -> None:
    inner = Inner("as it is", words=("a", "b"))

    assert cleaned(inner) is inner


@given(st.recursive(texts(4), lambda inner: st.lists(inner) | st.dictionaries(texts(3), inner)))
def test_json_is_exact_and_shows_all_it_holds(data: Any) -> None:
    text = json_text(data)

    assert not hidden(text)
    assert json.loads(text.encode()) == joined(data)


def joined(data: Any) -> Any:
    """Return data with halves that stand side by side as the characters that JSON makes of them."""
    return json.loads(json.dumps(data))


@given(texts())
def test_a_string_of_toml_is_exact_but_for_half_pairs(text: str) -> None:
    shown = toml_string(text)

    assert not hidden(shown)
    assert "\n" not in shown
    assert tomllib.loads(f"a = {shown}")["a"] == "".join(
        escaped(c) if "\ud800" <= c <= "\udfff" else c for c in text
    )


def test_json_has_no_number_for_nan() -> None:
    assert finite({"a": [float("nan"), float("inf"), 1.5, (2,)]}) == {"a": [None, None, 1.5, [2]]}
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text([float("nan")])


@given(texts())
def test_a_name_from_outside_names_one_file_in_its_folder(text: str) -> None:
    name = file_name(text, "otherwise")

    assert name
    assert len(name) <= 100
    assert PurePosixPath(name).parts == (name,)
    assert name not in (".", "..")
    assert not name.startswith((".", "-"))
    assert name.isascii()
    assert name.isprintable()


@pytest.mark.parametrize("text", ["", "..", "../..", "/", "~", *NASTY])
def test_a_name_of_which_nothing_is_left_has_another(text: str) -> None:
    assert "/" not in file_name(text, "otherwise")
    assert file_name("../../etc/passwd", "otherwise") == "etc_passwd"
    assert file_name("..", "otherwise") == "otherwise"
