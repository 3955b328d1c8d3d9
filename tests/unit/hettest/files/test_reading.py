"""What comes in from others is bounded, finite and dated, or refused with its line."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hettest.files import json_text, reading
from hettest.files.reading import (
    DEPTH,
    DIGITS,
    DocumentError,
    parse_json,
    parse_toml,
    read_text,
    time_at,
    time_of,
)
from tests.unit.hettest.files.hostile_text import texts


def refused(parse: Any, text: str) -> str:
    with pytest.raises(DocumentError) as caught:
        parse(text, "a.json")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "a.json:1: found no JSON: Expecting property name"),
        ('{"a":\n[1, nope]}', "a.json:2: found no JSON: Expecting value"),
        (f'{{"a":\n{"1" * 5000}}}', "a.json:2: found an integer of more than 40 digits"),
        ("[1,\n\n-1e400]", "a.json:3: found -1e400, expected a number that 64 bits hold"),
        ("[\nNaN]", "a.json:2: found NaN, expected a finite number"),
        ('["NaN",\n-Infinity]', "a.json:2: found -Infinity, expected a finite number"),
        ('{"b": {"a": 1,\n"a": 2}}', "a.json:2: found the key 'a' twice, expected each once"),
        ("[" * 100_000, "a.json: is nested too deeply, expected at most 100 levels"),
        ("[" * 500 + "]" * 500, "a.json: is nested too deeply, expected at most 100 levels"),
    ],
)
def test_json_that_is_refused_is_told_with_its_line(text: str, told: str) -> None:
    assert refused(parse_json, text).startswith(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = \n", "a.json:1: Invalid value"),
        (f"b = 1\na = {'1' * 5000}\n", "a.json:2: found an integer of more than 40 digits"),
        (f"b = 1\na = {'1' * 50}\n", "a.json:2: found an integer of more than 40 digits"),
        ("b = 1\n\na = 1e400\n", "a.json:3: found 1e400, expected a number that 64 bits hold"),
        ("a = " + "[" * 5000 + "]" * 5000, "a.json: is nested too deeply"),
        ("a = " + "[" * 150 + "]" * 150, "a.json: is nested too deeply"),
        ("a = 1\na = 2", "a.json:"),
        ("a = 2027-99-01", "a.json:1: "),
    ],
)
def test_toml_that_is_refused_is_told_with_its_line(text: str, told: str) -> None:
    assert refused(parse_toml, text).startswith(told)


def test_what_is_written_on_purpose_is_let_in() -> None:
    deep: Any = 1
    for _ in range(DEPTH):
        deep = [deep]

    assert parse_json(json_text(deep), "a") == deep
    assert parse_json("9" * DIGITS, "a") == int("9" * DIGITS)
    assert parse_toml("a = inf\nb = 18446744073709551615", "a") == {
        "a": float("inf"),
        "b": 2**64 - 1,
    }


NUMBERS = st.integers(-(2**64), 2**64) | st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | texts(4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(3), inner, max_size=4),
    max_leaves=12,
)
SPLICED = ["", "NaN", "1e999", "[", "\x00", '"']


def said(read: Callable[..., object], *args: object) -> str:
    """Return why ``read`` refuses something; empty if it takes it."""
    try:
        read(*args)
    except ValueError as error:
        return str(error)
    return ""


@given(PLAIN, st.data())
def test_what_is_changed_is_read_or_refused(data: Any, draw: st.DataObject) -> None:
    text = json_text(data)
    at = draw.draw(st.integers(0, len(text)))
    end = draw.draw(st.integers(at, min(len(text), at + 8)))
    changed = text[:at] + draw.draw(st.sampled_from(SPLICED)) + text[end:]

    for parse in (parse_json, parse_toml):
        why = said(parse, changed, "a.json")
        assert not why or why.startswith("a.json:")


@pytest.mark.parametrize(
    ("data", "told"),
    [(b"a\nb\xff", ":2: byte 0xff is not UTF-8"), (None, ": cannot be read: No such file")],
)
def test_a_file_that_cannot_be_read_is_told(data: bytes | None, told: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    if data is not None:
        path.write_bytes(data)

    with pytest.raises(DocumentError, match=told):
        read_text(path)
    with pytest.raises(DocumentError, match="cannot be read: Is a directory"):
        read_text(tmp_path)
    with pytest.raises(DocumentError, match="cannot be read: embedded null"):
        read_text(tmp_path / "\0")


def test_what_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")

    with pytest.raises(DocumentError, match="a file of more than 1000 bytes"):
        read_text(tmp_path / "zeros")
    with pytest.raises(DocumentError, match="cannot be read: found a pipe, expected a file"):
        read_text(tmp_path / "pipe")


def test_what_the_shell_hands_over_is_read() -> None:
    end, other = os.pipe()
    os.write(other, b"text")
    os.close(other)
    try:
        assert read_text(Path(f"/dev/fd/{end}")) == "text"
    finally:
        os.close(end)


def test_a_mark_of_the_byte_order_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf{}")

    assert read_text(path) == "{}"


@pytest.mark.parametrize("number", [1.8e15, -1, 1e300, 10**30, 9_214_646_400_000])
def test_milliseconds_that_are_none_are_told(number: float) -> None:
    with pytest.raises(ValueError, match="expected milliseconds since 1970"):
        time_at(number)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**40), 10**40))
def test_any_number_is_a_time_in_its_bounds_or_refused(number: float) -> None:
    why = said(time_at, number)

    assert "expected milliseconds" in why if why else 1970 <= time_at(number).year < 2262


@pytest.mark.parametrize(
    "text", ["", "now", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59-14:00", 7, None]
)
def test_a_text_that_is_no_time_is_told(text: Any) -> None:
    with pytest.raises(ValueError, match="expected a time"):
        time_of(text)


def test_a_time_without_a_zone_is_in_utc() -> None:
    assert time_of("2027-03-01T12:00") == datetime(2027, 3, 1, 12, tzinfo=UTC)
