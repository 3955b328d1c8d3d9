"""Keys and items of JSON texts are found on their lines."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hettest.case.json_lines import json_key_lines

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    named: list[tuple[str | int, Any]] = []
    if isinstance(value, list):
        named = list(enumerate(value))
    if isinstance(value, dict):
        named = list(value.items())
    return {p for key, item in named for p in ({(*path, key)} | paths(item, (*path, key)))}


@given(VALUES)
def test_every_key_and_item_has_its_line(value: Any) -> None:
    text = json.dumps(value, indent=1)
    lines, rows = json_key_lines(text), text.splitlines()

    assert set(lines) == paths(value)
    for path, line in lines.items():
        if isinstance(path[-1], str):
            assert rows[line - 1].lstrip().startswith(json.dumps(path[-1]))


def test_brackets_and_line_breaks_in_texts_do_not_count() -> None:
    text = '{"a": "]}\\n,",\n "b": [1,\n  {"c": 2}]}'

    assert json_key_lines(text) == {
        ("a",): 1,
        ("b",): 2,
        ("b", 0): 2,
        ("b", 1): 3,
        ("b", 1, "c"): 3,
    }
