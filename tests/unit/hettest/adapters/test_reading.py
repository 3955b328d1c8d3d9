"""Where arguments are handed over, as far as a program decides it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from hettest.adapters.reading import Task, attributes, homes, sizes
from hettest.language import nodes

MAP = {"host": "cpu:0", "accel": "cpu:1"}


def task(params: str, body: str, result: str = "f32[4]", default: str = "cpu:0") -> Task:
    text = f"""module {{
  vdevice @host, @accel
  fn @main({params}) -> {result} {{
{body}
  }}
}}
"""
    return Task("x", text, MAP, "copy", default, "main")


def found(of: Task) -> dict[str, str | None]:
    return {
        var.name + "".join(f"[{i}]" for i in path): home for (var, path), home in homes(of).items()
    }


@pytest.mark.parametrize(
    ("body", "home"),
    [
        ("%s = negative(%a) @accel\nreturn %s", "cpu:1"),
        ("%s = negative(%a) @host\n%t = add(%s, %a) @accel\nreturn %t", "cpu:0"),
        ("%s = negative(%a)\nreturn %s", None),
        ("%x = %a\n%s = negative(%x) @accel\nreturn %s", "cpu:1"),
        ("%s = shape_of(%a)\n%t = negative(%a) @accel\nreturn %t", "cpu:1"),
        ("%s = device_copy(%a) @accel\nreturn %s", None),
    ],
)
def test_an_argument_goes_where_requests_read_it_the_host_first(
    body: str, home: str | None
) -> None:
    assert found(task("%a: f32[4]", body)) == {"a": home}


def test_a_placed_type_decides() -> None:
    placed = task("%a: f32[4] @accel", "%s = negative(%a) @host\nreturn %s")

    assert found(placed) == {"a": "cpu:1"}


def test_the_fields_of_a_tuple_go_their_own_ways() -> None:
    body = "%x = %p[0]\n%y = %p[1]\n%u = negative(%x) @host\n%v = negative(%y) @accel\nreturn %v"

    assert found(task("%p: (f32[4], f32[4])", body)) == {"p[0]": "cpu:0", "p[1]": "cpu:1"}


def test_a_placed_result_reads_what_it_returns() -> None:
    assert found(task("%a: f32[4]", "return %a", "f32[4] @accel")) == {"a": "cpu:1"}


def test_a_task_is_sent_without_what_was_read_of_it() -> None:
    sent = task("%a: f32[4]", "return %a")
    assert sent.module.functions

    arrived: Task = pickle.loads(pickle.dumps(sent))

    assert arrived == sent
    assert hash(arrived) == hash(sent)
    assert arrived.module is not sent.module


def test_attributes_left_out_have_their_defaults() -> None:
    assert attributes(nodes.Call("concat", ())) == {"axis": 0}


def test_symbols_have_the_sizes_of_the_arguments() -> None:
    function = task("%a: f32[n, 2], %b: f32[m, n]", "return %a").function

    assert sizes(function, (np.zeros((3, 2)), np.zeros((5, 3)))) == {"n": 3, "m": 5}
