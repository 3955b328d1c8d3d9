"""Backends are named by entry point or place; their options are read as the signature says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from hettest.backend.discovery import load
from hettest.backend.naming import arguments, parse_name
from hettest.errors import UsageError

HERE = "tests.unit.hettest.backend.test_naming"


@dataclass
class Choosy:
    """A backend with options of each kind."""

    provider: str = "cpu"
    threads: int = 1
    scale: float | None = None
    checked: bool = True
    _hidden: int = 0

    name = "choosy"
    capabilities = frozenset({"device:cpu"})

    def devices(self) -> tuple[()]:
        return ()

    def compile(self, program: Any, device_map: Any, options: Any) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        pass


class Plain(Choosy):
    """A backend without options."""

    def __init__(self) -> None:
        super().__init__()


def needs_a_path(path: str, queues=2) -> Choosy:  # type: ignore[no-untyped-def]
    return Choosy(path, queues)


def takes_any(**options: str) -> Choosy:
    return Choosy(",".join(f"{key}={value}" for key, value in options.items()))


@pytest.mark.parametrize(
    ("text", "place", "options"),
    [
        ("reference_vm", "reference_vm.conformance:Backend", {}),
        ("reference_vm:a=1,b=x:y", "reference_vm.conformance:Backend", {"a": "1", "b": "x:y"}),
        ("mine:Backend", "mine:Backend", {}),
        ("mine.adapter:Backend:url=http://x:80", "mine.adapter:Backend", {"url": "http://x:80"}),
        ("mine:Backend:", "mine:Backend", {}),
    ],
)
def test_names_are_taken_apart(text: str, place: str, options: dict[str, str]) -> None:
    name = parse_name(text)

    assert (name.place, name.options) == (place, options)


def test_options_are_read_as_the_signature_says() -> None:
    backend = load(f"{HERE}:Choosy:provider=gpu,threads=4,scale=0.5,checked=false")

    assert backend == Choosy("gpu", 4, 0.5, False)


def test_a_default_says_the_type_where_no_annotation_does() -> None:
    assert load(f"{HERE}:needs_a_path:path=/x,queues=3") == Choosy("/x", 3)


def test_whatever_takes_any_option_gets_texts() -> None:
    assert load(f"{HERE}:takes_any:a=1") == Choosy("a=1")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("referencevm", "found no backend referencevm; .*; did you mean reference_vm?"),
        ("referencevm:a=1", "found no backend referencevm; .*; did you mean reference_vm?"),
        ("a:b:c", "found 'c', expected an option such as threads=1"),
        ("a:b:=1", "found '=1', expected an option such as threads=1"),
        ("a:b:x=1,x=2", "option x is given twice"),
        (
            f"{HERE}:Choosy:thread=4",
            "its options are provider, threads, scale, checked; did you mean threads?",
        ),
        (f"{HERE}:Choosy:_hidden=4", "has no option _hidden"),
        (f"{HERE}:Choosy:threads=many", "option threads is 'many', expected an integer"),
        (f"{HERE}:Choosy:scale=big", "option scale is 'big', expected a number"),
        (f"{HERE}:Choosy:checked=perhaps", "option checked is 'perhaps', expected true or false"),
        (f"{HERE}:needs_a_path", "needs an option path: .*:needs_a_path:path="),
        (f"{HERE}:Plain:x=1", "has no option x; it takes no options"),
        (f"{HERE}:Nowhere", f"^backend {HERE}:Nowhere cannot be loaded"),
        ("reference_vm:x=1", "has no option x; its options are executor"),
        ("reference_vm:executor=fast", "found executor fast, expected native or interpreter"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        load(name)


def test_what_has_no_signature_gets_the_options_as_texts() -> None:
    name = parse_name("a:b:x=1")

    assert arguments(name, type("C", (), {"__signature__": 1})) == {"x": "1"}
