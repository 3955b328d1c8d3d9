"""Whatever is done to a saved program, it is refused, or it runs or fails as programs do."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

import reference_vm as rv
from reference_vm.diagnostics import DiagnosticError
from reference_vm.program.members import CODE, KERNELS
from tests.unit.program.files import loaded, members, packed, saved
from tests.unit.program.programs import EXAMPLES

NAMES = st.sampled_from(sorted(EXAMPLES))

SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.integers(-2, 12),
    st.sampled_from([2**31, 2**63 - 1, 2**63, -(2**63), 10**30]),
    st.sampled_from(["", "n", "f32", "f64", "i64", "bool", "cpu:0", "sim:0", "?", "main", "c0"]),
    st.sampled_from([None, True, False, 0.5, [], {}, [[1, "n"]], [[16, "n"]], [4]]),
)


@cache
def parts(name: str) -> dict[str, bytes]:
    return members(saved(EXAMPLES[name].program()))


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in a tree: what holds it, and the key there."""
    stack = [tree]
    while stack:
        top = stack.pop()
        for key in top if isinstance(top, dict) else range(len(top)):
            yield top, key
            if isinstance(top[key], list | dict):
                stack.append(top[key])


def mutated(tree: Any, data: st.DataObject) -> None:
    """Change one place: to something else, to what stands elsewhere, away, or twice."""
    found = list(places(tree["executable"]))
    holder, key = found[data.draw(st.integers(0, len(found) - 1), label="place")]
    match data.draw(st.sampled_from(["value", "copy", "drop", "twice", "swap"]), label="how"):
        case "value":
            holder[key] = data.draw(SCALARS, label="value")
        case "copy":
            other, at = found[data.draw(st.integers(0, len(found) - 1), label="from")]
            holder[key] = copy.deepcopy(other[at])
        case "drop":
            del holder[key]
        case "twice" if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        case "swap" if isinstance(holder, list):
            at = data.draw(st.integers(0, len(holder) - 1), label="with")
            holder[key], holder[at] = holder[at], holder[key]


def ends_well(content: bytes, name: str) -> None:
    """Load and run a program: only a diagnostic may end it."""
    with suppress(DiagnosticError):
        session = rv.Session(loaded(content), checked=True)
        session.run("main", *EXAMPLES[name].args)


@settings(max_examples=300)
@given(NAMES, st.integers(1, 3), st.data())
def test_changed_code_is_refused_or_runs(name: str, changes: int, data: st.DataObject) -> None:
    tree = json.loads(parts(name)[CODE])
    for _ in range(changes):
        mutated(tree, data)

    ends_well(packed(parts(name) | {CODE: json.dumps(tree).encode()}), name)


@settings(max_examples=150)
@given(NAMES, st.data())
def test_changed_kernels_are_refused_or_run(name: str, data: st.DataObject) -> None:
    words = parts(name)[KERNELS].decode().split(" ")
    first = data.draw(st.integers(0, len(words) - 1))
    words[first] = data.draw(st.sampled_from([*words, "4", "f32[4]", "@k0", "const", "none", ""]))

    ends_well(packed(parts(name) | {KERNELS: " ".join(words).encode()}), name)


@settings(max_examples=200)
@example("branches", 0, 0)
@given(NAMES, st.integers(0, 1 << 20), st.integers(0, 255))
def test_changed_bytes_are_refused_or_change_nothing(name: str, at: int, byte: int) -> None:
    content = bytearray(packed(parts(name), digests=False))
    content[at % len(content)] = byte
    found = None
    with suppress(DiagnosticError):
        found = saved(loaded(bytes(content)))
    assert found is None or found == packed(parts(name), digests=False)
