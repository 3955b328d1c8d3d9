"""The kit and the reference take the same device names and refuse the same ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hettest import devicemap
from hettest.devicemap import canonical
from hettest.errors import UsageError
from reference_vm.types import device
from reference_vm.types.device import DeviceName
from tests.unit.hettest.files.hostile_text import texts

NAMES = st.one_of(
    texts(),
    st.from_regex(r"[a-z][a-z0-9_]{0,70}(\.[a-z0-9_-]{1,70})?(:[0-9]{1,30})?", fullmatch=True),
    st.builds("{}:{}".format, st.sampled_from(["cpu", "sim.no-f64"]), st.integers(0, 10**6)),
)


def read(parse: object, text: str) -> str:
    try:
        return str(parse(text))  # type: ignore[operator]
    except (UsageError, ValueError) as error:
        return f"refused: {error}"


@given(NAMES)
def test_both_say_the_same_of_every_name(text: str) -> None:
    assert read(canonical, text) == read(DeviceName.parse, text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sim", "sim:0"),
        ("sim:0007", "sim:7"),
        (f"sim:{'0' * 5000}1", "sim:1"),
        ("sim.no-f64:9999", "sim.no-f64:9999"),
        ("sim:10000", "refused: found a device sim of the index 10000, expected one of 0 to 9999"),
        ("sim:1234567890", "refused: found a device sim of the index 1234567890, "),
        (f"sim:{'1' * 5000}", "refused: found a device sim of the index 11111111111111111111, "),
        ("x" * 65, "refused: found a device xxxxxxxxxxxxxxxxxxxx… with a word of more than 64"),
        ("sim:\u0661", "refused: found 'sim:\u0661', expected a device such as"),
    ],
)
def test_an_index_is_bounded(text: str, found: str) -> None:
    assert read(canonical, text).startswith(found)
    assert read(DeviceName.parse, text).startswith(found)


def test_the_bounds_are_the_same() -> None:
    assert devicemap.LAST_INDEX == device.LAST_INDEX
    assert devicemap.LONGEST_WORD == device.LONGEST_WORD
