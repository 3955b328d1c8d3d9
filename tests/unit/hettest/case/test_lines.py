"""Every key of a TOML text is found on its line, whatever stands between."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hettest.case.lines import key_lines, line_of, show

TEXT = '''# a comment with [brackets] = and "quotes"
format = 1   # [not.a.table]
text = """
[not] = 'a table'
"""
'quoted key' = { a = [1, 2], "b.c" = ']' }
list = [
  1, # ]
  2,
]

[expect.moved]
bytes.exact = 48

[[run]]
name = "one"

[[run]]
args.a = { dtype = "f32" }
[run.args.b]
data = [1]
'''


def test_keys_headers_and_arrays_of_tables_are_found() -> None:
    assert dict(key_lines(TEXT)) == {
        ("format",): 2,
        ("text",): 3,
        ("quoted key",): 6,
        ("list",): 7,
        ("expect", "moved"): 12,
        ("expect", "moved", "bytes"): 13,
        ("expect", "moved", "bytes", "exact"): 13,
        ("run", 0): 15,
        ("run", 0, "name"): 16,
        ("run", 1): 18,
        ("run", 1, "args"): 19,
        ("run", 1, "args", "a"): 19,
        ("run", 1, "args", "b"): 20,
        ("run", 1, "args", "b", "data"): 21,
    }


def test_a_key_inside_a_value_has_the_line_of_the_value() -> None:
    lines = key_lines(TEXT)

    assert line_of(lines, ("run", 1, "args", "a", "dtype")) == 19
    assert line_of(lines, ("nowhere",)) is None


def test_a_path_is_shown_as_it_is_written() -> None:
    assert show(("run", 0, "args", "a")) == "run[0].args.a"


values = st.recursive(
    st.integers(-9, 9) | st.text(st.characters(codec="ascii", exclude_characters="\r\x7f")),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
tables = st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), values, max_size=5)


def _written(value: Any, multiline: bool) -> str:
    if isinstance(value, list):
        separator = ",\n" if multiline else ", "
        return "[" + separator.join(_written(v, multiline) for v in value) + "]"
    if isinstance(value, str):
        escaped = "".join(
            c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in value
        )
        return f'"{escaped}"'
    return str(value)


@given(tables, st.booleans())
def test_whatever_the_values_each_key_is_on_the_line_that_begins_with_it(
    table: dict[str, Any], multiline: bool
) -> None:
    text = "\n".join(f"{key} = {_written(v, multiline)}" for key, v in table.items())
    assert tomllib.loads(text) == table

    found = key_lines(text)

    assert set(found) == {(key,) for key in table}
    rows = text.split("\n")
    for (key,), line in found.items():
        assert rows[line - 1].startswith(f"{key} =")
    assert all(isinstance(path, tuple) for path in found)
