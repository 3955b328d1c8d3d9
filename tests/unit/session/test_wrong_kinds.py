"""What is handed to the Python API and is of the wrong kind is named: what it is, what it should
be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.diagnostics import DiagnosticError
from tests.unit.session.test_runs import X

TEXT = "module { fn @main(%x: f32[4]) -> f32[4] { %y = exp(%x) return %y } }"
MODULE = rv.parse(TEXT)


def refused(call: Callable[[], Any]) -> rv.Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        call()
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"default": ""}, "default is '', expected a role or a device"),
        ({"default": 5}, "default is 5, expected a role or a device"),
        ({"default": "no such"}, "default is 'no such', expected a role"),
        ({"policy": None}, "policy is None, expected copy, replicate, error"),
        ({"device_map": None}, "device_map is None, expected role=device pairs"),
        ({"device_map": 5}, "device_map is 5, expected role=device pairs"),
        ({"device_map": {"host": 5}}, 'device_map["host"] is 5, expected a device such as cpu:0'),
        ({"device_map": {5: "cpu:0"}}, "a role of device_map is 5, expected a name"),
        ({"place": None}, "place is None, expected a pattern"),
        ({"place": [5]}, "place is of type list, expected a pattern"),
        ({"split": 5}, "split is 5, expected halves"),
        ({"memory": 5}, "memory is 5, expected sizes such as accel=64MiB"),
        ({"costs": 5}, "costs is 5, expected a CostModel"),
        ({"nominal": {"n": "8"}}, "nominal is of type dict, expected a size for each symbol"),
        ({"executor": 5}, "executor is 5, expected numba, numpy"),
        ({"weights": 5}, "weights is 5, expected the path of a folder"),
    ],
    ids=str,
)
def test_an_option_of_the_wrong_kind_is_named(options: dict[str, Any], text: str) -> None:
    found = refused(lambda: rv.compile(MODULE, **options))
    assert found.code == "invalid-option"
    assert text in found.message


def test_a_default_of_a_kind_that_does_not_exist_is_refused() -> None:
    found = refused(lambda: rv.compile(MODULE, default="gpu"))
    assert found.code == "device-unavailable"


@pytest.mark.parametrize("function", [rv.compile, rv.explain])
def test_a_device_of_a_kind_that_does_not_exist_is_refused_where_its_role_is_used(
    function: Callable[[Any], Any],
) -> None:
    text = """module {
      vdevice @host, @x = "tpu:0"
      fn @main(%a: f32[4]) -> f32[4] {
        %b = negative(%a) @x
        return %b
      }
    }"""
    found = refused(lambda: function(rv.parse(text)))
    assert found.code == "device-unavailable"
    assert found.span is not None
    assert (found.span.line, found.span.text) == (4, "negative(%a)")


@pytest.mark.parametrize("device", ["cpu:99999999999999999999", "cpu:" + "9" * 5000])
def test_a_device_number_has_an_end(device: str) -> None:
    found = refused(lambda: rv.compile(MODULE, f"host={device}"))
    assert found.code == "invalid-device-map"
    assert "of the index 99999" in found.message
    assert "expected one of 0 to 9999" in found.message
    assert len(found.message) < 200


@pytest.mark.parametrize("function", [rv.compile, rv.explain, rv.print_module])
def test_text_is_parsed_first(function: Callable[[Any], Any]) -> None:
    found = refused(lambda: function(TEXT))
    assert (found.code, found.help) == (
        "invalid-option",
        "parse it first, reference_vm.parse(text)",
    )


@pytest.mark.parametrize("text", [None, b"module {}", 5])
def test_only_text_is_parsed(text: Any) -> None:
    assert "expected a string" in refused(lambda: rv.parse(text)).message


@pytest.mark.parametrize("program", [None, MODULE, TEXT])
def test_a_session_is_of_a_program(program: Any) -> None:
    assert "expected a Program" in refused(lambda: rv.Session(program)).message


@pytest.mark.parametrize("entry", [None, X, ["main"]], ids=["nothing", "array", "list"])
def test_an_entry_is_named(entry: Any) -> None:
    session = rv.Session(rv.compile(MODULE))
    for call in (lambda: session.run(entry, X), lambda: session[entry]):
        found = refused(call)
        assert found.code == "unknown-entry"
        assert f"the entry is of type {type(entry).__name__}, expected the name of one: main" in (
            found.message
        )


@pytest.mark.parametrize(
    ("device", "code", "text"),
    [
        ("", "invalid-option", "device is '', expected a device of the program: cpu:0"),
        (None, "invalid-option", "device is None, expected a device of the program: cpu:0"),
        ("sim:99", "device-unavailable", "sim:99 is not available: the program uses cpu:0 only"),
    ],
)
def test_an_array_is_put_on_a_device_of_the_program(device: Any, code: str, text: str) -> None:
    session = rv.Session(rv.compile(MODULE))
    found = refused(lambda: session.put(X, device))
    assert (found.code, found.message) == (code, text)


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([object()]), "array is 'object[1]', expected an array of numbers or bools"),
        ("text", "array is 'text', expected an array of numbers or bools"),
        ([[1], [1, 2]], "array is of type list, expected an array of numbers or bools"),
        (None, "array is None, expected an array of numbers or bools"),
        (np.ma.masked_array(X, mask=X > 0), "expected an array without mask"),
    ],
    ids=["objects", "text", "ragged", "nothing", "mask"],
)
def test_what_is_put_is_an_array_of_the_language(array: Any, text: str) -> None:
    session = rv.Session(rv.compile(MODULE))
    assert text in refused(lambda: session.put(array, "cpu:0")).message
