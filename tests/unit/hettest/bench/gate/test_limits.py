"""The file of limits: which limit is for which benchmark, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hettest.bench.gate.limits import Limits
from hettest.bench.gate.limits_file import load
from hettest.bench.measurement import Costs
from hettest.errors import UsageError

FILE = """\
format = 1
[[limit]]
benchmark = "*"
copies-at-most = 5

[[limit]]
benchmark = "test_b.py::test_it[[]*"
slower = 1.5
reason = "tiles are chosen at random"
copies-at-most = 2
bytes-at-most = "1 KiB"
peak-memory-at-most = 100
""".replace("[[]", "[")
NAME = "test_b.py::test_it[cpu:0-npu:0]"


def limits(folder: Path, text: str = FILE) -> Limits:
    path = folder / "limits.toml"
    path.write_text(text)
    return load(path)


def test_of_several_limits_the_last_counts_for_each_thing(tmp_path: Path) -> None:
    found = limits(tmp_path)

    assert (found.slower(NAME), found.slower("test_c.py::test_it")) == (1.5, 1.1)
    assert found.reason(NAME) == "tiles are chosen at random"
    assert list(found.breaches("test_c.py::test_it", Costs(copies=6))) == [
        "copies: 6, at most 5 are allowed"
    ]
    assert list(found.breaches(NAME, Costs(3, 2048, None, {"npu:0": 101, "cpu:0": 9}))) == [
        "copies: 3, at most 2 are allowed",
        "bytes: 2 KiB, at most 1 KiB are allowed",
        "peak memory on npu:0: 101 B, at most 100 B are allowed",
    ]
    assert list(found.breaches(NAME, Costs(2, 1024, None, {"npu:0": 100}))) == []


def test_what_is_limited_and_not_known_is_said(tmp_path: Path) -> None:
    found = limits(tmp_path)

    assert list(found.unseen(NAME, Costs(copies=1))) == [
        "bytes: limited, and not shown by the backend",
        "peak memory: limited, and not shown by the backend",
    ]
    assert list(found.unseen("plain", None)) == ["copies: limited, and not shown by the backend"]


def test_a_limit_for_nothing_says_where_it_stands(tmp_path: Path) -> None:
    (unmatched,) = limits(tmp_path).unmatched(["test_c.py::test_it"])

    assert unmatched.place == f"{tmp_path / 'limits.toml'}:6"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format = 1", "format = 2", ":1: format: found 2, expected format = 1"),
        ("slower = 1.5", "slowr = 1.5", ":8: limit[1].slowr: is no key of this table; did you"),
        ("slower = 1.5", "slower = 0.9", ":8: limit[1].slower: found 0.9, expected a number above"),
        ("slower = 1.5", "slower = inf", ":8: limit[1].slower: found inf, expected a number above"),
        ('reason = "tiles', '# reason = "tiles', ":6: limit[1].reason: is missing"),
        (
            "at-most = 2",
            "at-most = -2",
            ":10: limit[1].copies-at-most: found -2, expected a number",
        ),
        ("at-most = 2", "at-most = true", ":10: limit[1].copies-at-most: found True, expected"),
        ('"1 KiB"', '"1 Keks"', ":11: limit[1].bytes-at-most: found '1 Keks', expected a number"),
        ("= 100", "= 1.5", ":12: limit[1].peak-memory-at-most: found 1.5, expected a number of"),
        ('benchmark = "*"', 'benchmark = ""', ":3: limit[0].benchmark: found '', expected a text"),
        ("copies-at-most = 5", "", ":3: limit[0].benchmark: limits nothing, expected one of"),
        ("[[limit]]\nbenchmark", "[limit]\nbenchmark", "limits.toml"),
        ('"*"', '"*', ":3: Illegal character"),
    ],
)
def test_a_wrong_file_says_line_and_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in FILE

    with pytest.raises(UsageError) as refused:
        limits(tmp_path, FILE.replace(old, new, 1))

    assert message in str(refused.value)


def test_a_file_without_limits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"limit: there is none, expected at least one \[\[limit"):
        limits(tmp_path, "format = 1\n")
    with pytest.raises(UsageError, match="the limits cannot be read"):
        load(tmp_path / "none.toml")
