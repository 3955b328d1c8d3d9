"""``--het-update-golden`` writes golden texts; without it they are only compared."""

from __future__ import annotations

import pytest

TEST = "def test_it(het_golden):\n    het_golden.check({text!r})\n"


def test_a_missing_golden_text_fails_and_names_the_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TEST.format(text="one\n"))

    result = pytester.runpytest()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*rerun with --het-update-golden to accept it"])
    assert not (pytester.path / "test_it.golden").exists()


def test_an_accepted_text_passes_until_it_changes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TEST.format(text="one\n"))
    pytester.runpytest("--het-update-golden").assert_outcomes(passed=1)
    pytester.runpytest().assert_outcomes(passed=1)

    pytester.makepyfile(test_it=TEST.format(text="two\n"))
    result = pytester.runpytest()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*-one", "E*+two"])


@pytest.mark.parametrize("text", ["ends\r\nas elsewhere\r", "no end", "\n\n", "\x1b[31mred", ""])
def test_a_text_is_kept_to_the_byte(text: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TEST.format(text=text))
    pytester.runpytest("--het-update-golden").assert_outcomes(passed=1)

    pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("former", "now", "shown"),
    [
        ("one", "one\n", ["E*+"]),
        ("one\n", "one\r\n", ["E*-one", r"E*+one\x0d"]),
        ("red\n", "\x1b[31mred\n", ["E*-red", r"E*+\x1b[[]31mred"]),
    ],
)
def test_a_difference_that_is_not_seen_is_shown(
    former: str, now: str, shown: list[str], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_it=TEST.format(text=former))
    pytester.runpytest("--het-update-golden").assert_outcomes(passed=1)
    pytester.makepyfile(test_it=TEST.format(text=now))

    result = pytester.runpytest()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(shown)


def test_a_text_that_no_file_can_hold_is_told_and_the_former_one_stays(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_it=TEST.format(text="one\n"))
    pytester.runpytest("--het-update-golden").assert_outcomes(passed=1)
    pytester.makepyfile(test_it=TEST.format(text="one\n\ud800"))

    result = pytester.runpytest("--het-update-golden")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([r"E*line 2 of the text holds '\ud800', half of a surrogate pair*"])
    (golden,) = pytester.path.glob("*.golden/*.txt")
    assert golden.read_text() == "one\n"


def test_a_golden_file_that_is_not_utf_8_is_told_with_its_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TEST.format(text="one\n"))
    pytester.runpytest("--het-update-golden").assert_outcomes(passed=1)
    (golden,) = pytester.path.glob("*.golden/*.txt")
    golden.write_bytes(b"one\n\xff")

    result = pytester.runpytest("test_it.py")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*test_it.txt:2: byte 0xff is not UTF-8*"])
