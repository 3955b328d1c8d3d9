"""Markers name the line and the code of expected diagnostics."""

from __future__ import annotations

from reference_vm.source import Source
from reference_vm.text.markers import markers


def test_a_marker_is_for_its_line_and_one_with_a_caret_for_the_line_above() -> None:
    source = Source("t", "a //~ unknown-vdevice\nb\n  //~^ rank-mismatch\n")

    assert markers(source) == ((1, "unknown-vdevice"), (2, "rank-mismatch"))


def test_lines_are_those_of_the_file_that_holds_the_text() -> None:
    assert markers(Source("t", "a\nb //~ x", first_line=11)) == ((12, "x"),)


def test_other_comments_and_strings_are_no_markers() -> None:
    assert markers(Source("t", '// //~ a\n"//~ b" // c ~ d\n%"x\\"//~ e"')) == ()


def test_markers_are_found_in_a_text_that_does_not_parse() -> None:
    assert markers(Source("t", '$$ " \n ( //~ syntax-error')) == ((2, "syntax-error"),)
