"""The first page answers in order: level, devices, counts, waivers, changes, what is not known."""

from __future__ import annotations

from dataclasses import replace

from hettest.levels.standing import Reach
from hettest.outcome import Clause, Measure, Outcome, Record, Seen, Status, Transfer
from hettest.report.legend import MEANINGS
from hettest.report.markdown import render
from hettest.report.summary import levels, sections
from hettest.report.text import lines
from tests.unit.hettest.report.made import content, core, rung

PAIR = ("cpu:0", "sim:0")


def test_words_of_the_judge_have_a_legend() -> None:
    told = dict(
        line.split(": ", 1)
        for s in sections(content(EVERYTHING))
        if s.title == "words"
        for line in s.lines
    )

    assert {"unproven", "undecided", "vacuous", "loosened", "advisory", "local"} <= told.keys()
    assert "neither" not in told  # no level is blocked here
    assert told == {word: MEANINGS[word] for word in told}


def test_a_page_without_such_words_has_no_legend() -> None:
    assert "words" not in [s.title for s in sections(content((item("a/b[1]"),)))]


def item(name: str, outcome: Outcome = Outcome.PASSED, *clauses: Clause, **more: str) -> Record:
    reason = more.get("reason", "")
    waiver = more.get("waiver", "")
    return Record(name, outcome, reason, 2, clauses, case="a/b", devices=PAIR, waiver=waiver)


def values(detail: str = "", *measures: Measure, status: Status = Status.PROVEN) -> Clause:
    return Clause("values", status, detail, measures=measures)


EVERYTHING = (
    item("a/b[1]", Outcome.PASSED, values("as expected, within 4 ulp, since sums reorder")),
    item("a/b[2]", Outcome.PASSED, values("", Measure("bound", "vacuous"))),
    item("a/b[3]", Outcome.PASSED, values("", Measure("local", "holds", 0.5, undecided=2))),
    item(
        "a/b[4]",
        Outcome.UNSUPPORTED,
        Clause("copies", Status.UNPROVEN, "", word="observe:copies"),
        reason="not claimed: observe:copies",
    ),
    item("a/b[5]", Outcome.WAIVED, waiver="pending: NaN is lost (me, until 2027-03-01)"),
    replace(
        item("a/b[6]", Outcome.PASSED, values("sign of NaN", status=Status.ADVISORY)),
        seen=Seen({"main/%s": ("sim:0",)}, ()),
    ),
    item("a/b[7]", Outcome.FAILED, reason="values: wrong"),
)


def test_the_sections_stand_in_order_and_say_what_there_is() -> None:
    former = content([item("a/b[7]")])
    standing = core(
        rung(0, Reach.REACHED), rung(1, Reach.BLOCKED, "a/b[7] failed"), copies="metered"
    )
    made = content(
        EVERYTHING,
        standings=(standing,),
        deselected={"above level 2": 3},
        problems=("waivers.toml:3: expired",),
        partial="a sample was run",
    )

    found = {section.title: section.lines for section in sections(made, former)}

    assert list(found) == [
        "no evidence of conformance",
        "levels",
        "ran on",
        "items",
        "problems",
        "waivers",
        "since the former report",
        "unproven",
        "undecided",
        "bounds vacuous",
        "bounds loosened",
        "advisory, not counted",
        "deselected",
        *(["covered"] if "covered" in found else []),
        "words",
    ]
    assert found["levels"] == (
        "core@1: L0 reached on cpu:0, sim:0; copies metered; L0: 4 of 4 items passed",
        "core@1: L1 is not reached: a/b[7] failed; L1: 3 of 4 items passed, 1 neither",
    )
    assert found["ran on"] == (
        "sim:0 (1 item)",
        "nothing was seen to run on cpu:0: it is not shown where items ran that passed",
    )
    assert found["items"][0].startswith("7 items: 4 passed, 1 failed")
    assert found["waivers"] == ("a/b[5]: pending: NaN is lost (me, until 2027-03-01)",)
    assert "a/b[7]: passed -> failed (worse)" in found["since the former report"]
    assert found["unproven"] == ("copies: a/b[4]: not claimed: observe:copies",)
    assert found["undecided"] == ("local: a/b[3], 2 elements",)
    assert found["bounds vacuous"] == ("bound: a/b[2]",)
    assert found["bounds loosened"] == ("within 4 ulp, since sums reorder: a/b[1]",)
    assert found["advisory, not counted"] == ("a/b[6]: sign of NaN",)


def test_a_bound_that_only_the_rounded_value_keeps_is_not_loosened() -> None:
    exact = item("a/b[1]", Outcome.PASSED, values("as expected, within 0.5 ulp, since it is exact"))

    assert "bounds loosened" not in {section.title for section in sections(content([exact]))}


def test_a_device_on_which_nothing_ran_is_said_with_the_reason() -> None:
    missing = item("a/b[1]", Outcome.NOT_RUN, reason="missing device sim:0: no driver")

    (found,) = (s.lines for s in sections(content([missing])) if s.title == "ran on")

    assert found == (
        "no device",
        "nothing ran on cpu:0: missing device sim:0: no driver",
        "nothing ran on sim:0: missing device sim:0: no driver",
    )


def test_an_item_counts_for_the_devices_that_its_record_shows() -> None:
    proven = values()
    elsewhere = Seen({"main/%s": ("sim:0",)}, ())
    moved = Seen({"main/%s": ("cpu:0",)}, (Transfer("main/%s", "cpu:0", "sim:0"),))
    accepted = Clause("diagnostics", Status.PROVEN, "accepted")
    records = [
        replace(item("a/b[1]", Outcome.PASSED, proven), seen=elsewhere),
        replace(item("a/b[2]", Outcome.PASSED, proven), seen=moved),
        item("a/b[3,default=sim:0]", Outcome.PASSED, proven),
        item("a/b[compiles]", Outcome.PASSED, accepted),
        item("a/b[4]", Outcome.CRASHED, reason="no driver"),
    ]

    (found,) = (s.lines for s in sections(content(records)) if s.title == "ran on")

    assert found == ("cpu:0 (1 item), sim:0 (2 items)",)


def test_a_backend_that_did_not_open_ran_nothing() -> None:
    crashed = item("a/b[1]", Outcome.CRASHED, reason="no driver")

    found = {s.title: s.lines for s in sections(content([crashed], unopened="no driver"))}

    assert found["ran on"] == ("no device; nothing ran: the backend did not open: no driver",)


def test_tests_of_ones_own_get_no_more_than_counts() -> None:
    made = content([Record("test_it.py::test_a", Outcome.PASSED)])

    assert len(list(lines(made))) == 2


def test_a_run_of_a_few_items_has_one_line_on_its_level() -> None:
    reason = "only 1 of 4 items of L0 were selected"
    made = content([item("a/b[1]")], standings=(core(rung(0, Reach.NOT_JUDGED, reason)),))

    assert next(iter(sections(made))).lines == (f"core@1: not judged: {reason}",)


def test_a_level_says_on_how_few_items_it_rests() -> None:
    few = replace(rung(4, Reach.REACHED), items=302, passed=21, excused=281)

    (line,) = levels(content([item("a/b[1]")], standings=(core(few),)))

    assert line.endswith("; L4: 21 of 302 items passed, 281 excused (not declared)")


def test_the_text_stays_short_and_ends_with_the_level() -> None:
    lacking = [
        replace(item(f"a/b[{n}]", Outcome.UNSUPPORTED), lacks=(f"op:o{n % 300}",))
        for n in range(600)
    ]
    failed = [item(f"a/f[{n}]", Outcome.FAILED, reason=f"values: {n}") for n in range(50)]
    made = content(
        [*lacking, *failed],
        standings=(core(rung(0, Reach.REACHED), rung(1, Reach.BLOCKED, "a/f[0] failed")),),
    )

    found = list(lines(made))

    assert len(found) < 40
    assert "  op:o0: 2 items, first a/b[0]" in found
    assert "  and 290 more words; the JSON, Markdown and HTML reports list all" in found
    assert "  and 40 more items; the JSON report lists all" in found
    assert found[-2:] == list(levels(made))
    page = render(made)
    assert all(f"| op:o{n} | 2 | a/b\\[{n}\\] |" in page for n in range(300))


def test_a_reason_of_many_items_is_told_once() -> None:
    crashed = [item(f"a/b[{n}]", Outcome.CRASHED, reason="no driver") for n in range(20)]

    found = list(lines(content(crashed)))

    assert found[-3:] == [
        "crashed (20):",
        "  a/b[0]: no driver",
        "  and 19 more items, to a/b[19]: the same",
    ]


def test_markdown_shows_the_same_and_every_item_that_did_not_pass() -> None:
    made = content(EVERYTHING, standings=(core(rung(0, Reach.REACHED)),))

    page = render(made, content([item("a/b[7]")]))

    for section in sections(made):
        assert section.title.capitalize() in page
    assert "## Failed (1)" in page
    assert "| a/b\\[7\\] | values: wrong |" in page
    assert "| core@1 | L0 | reached | 4 | 4 | 0 |  |" in page


def test_markdown_shows_texts_as_they_are() -> None:
    bad = item("a/b[x|y]", Outcome.FAILED, reason="found <b>*1*</b>\n| and `more`")

    page = render(content([bad]))

    assert "| a/b\\[x\\|y\\] | found \\<b>\\*1\\*\\</b> \\| and \\`more\\` |" in page
