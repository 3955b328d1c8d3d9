"""What reports draw of a run: placement, transfers, and what each variable that ran reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hettest.backend.protocol import Copy, Execution, Observation
from hettest.case.expansion import Item, expand
from hettest.language import parse
from hettest.outcome import Seen
from hettest.runner.seen import seen
from tests.unit.hettest.case.written import load_text, text

DEVICES = ("cpu:0", "sim:0")


def item(folder: Path) -> Item:
    (case,) = load_text(folder, text())
    return expand(case, DEVICES)[0]


def of(folder: Path, program: str, *ran: str) -> Seen:
    """Return what is seen of a run of ``main`` in which the named variables were computed."""
    observation = Observation(
        results=(),
        executions=[Execution("op", (name,), "sim:0") for name in ran],
        copies=[Copy("cpu:0", "sim:0", "main/%a", 16)],
    )
    found = seen(item(folder), observation, parse(program, "<test>"))
    assert found is not None
    return found


def in_main(body: str) -> str:
    return (
        "module {\n  vdevice @host, @accel\n"
        "  fn @part(%x: f32[4]) -> f32[4] {\n    %q = negative(%x)\n    return %q\n  }\n"
        f"  fn @main(%a: f32[4], %b: f32[4]) -> f32[4] @host {{\n{body}    return %r\n  }}\n}}\n"
    )


def test_a_variable_reads_what_ran_and_what_the_entry_is_given(tmp_path: Path) -> None:
    program = in_main("    %s = add(%a, %b)\n    %r = add(%s, %b)\n")

    found = of(tmp_path, program, "main/%s", "main/%r")

    assert found.reads == {"main/%s": ("main/%a", "main/%b"), "main/%r": ("main/%s", "main/%b")}
    assert found.results == ("main/%r",)


def test_moves_and_operators_that_did_not_run_stand_for_what_they_read(tmp_path: Path) -> None:
    program = in_main(
        "    %s = add(%a, %b)\n    %w = to_vdevice(%s) @accel\n    %r = negative(%w)\n"
    )

    assert of(tmp_path, program, "main/%s", "main/%r").reads["main/%r"] == ("main/%s",)
    assert of(tmp_path, program, "main/%r").reads["main/%r"] == ("main/%a", "main/%b")


def test_a_call_stands_for_its_result_and_a_parameter_for_its_argument(tmp_path: Path) -> None:
    program = in_main("    %s = abs(%a)\n    %c = @part(%s)\n    %r = abs(%c)\n")

    found = of(tmp_path, program, "main/%s", "part/%q", "main/%r")

    assert found.reads["part/%q"] == ("main/%s",)
    assert found.reads["main/%r"] == ("part/%q",)


def test_shapes_move_no_data(tmp_path: Path) -> None:
    program = in_main(
        "    %s = abs(%a)\n    %n = shape_of(%s)\n    %r = reshape(%b, %n)\n    %u = abs(%r)\n"
    )

    found = of(tmp_path, program, "main/%s", "main/%n", "main/%u")

    assert found.reads["main/%n"] == ()
    assert found.reads["main/%u"] == ("main/%b",)


def test_one_device_and_no_run_show_nothing(tmp_path: Path) -> None:
    alone = replace(item(tmp_path), binding={"host": "cpu:0", "accel": "cpu:0"}, default="cpu:0")

    assert seen(alone, Observation(results=()), None) is None
    assert seen(item(tmp_path), None, None) is None


def test_it_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    found = of(tmp_path, in_main("    %r = add(%a, %b)\n"), "main/%r")

    assert Seen.from_json(found.to_json()) == found
