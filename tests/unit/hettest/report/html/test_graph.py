"""In the drawing of a run, devices are lanes, time runs to the right, and copies are dots."""

from __future__ import annotations

import re

import pytest

from hettest.outcome import Seen, Transfer
from hettest.report.html.graph import MOST, draw
from hettest.report.html.shapes import BOX_HEIGHT, Box, Drawing, Sizes

PAIR = ("cpu:0", "sim:0")
APART = Seen(
    placement={"main/%s": ("cpu:0",), "main/%t": ("sim:0",), "main/%d": ("cpu:0",)},
    transfers=(
        Transfer("main/%b", "cpu:0", "sim:0", 16, "argument"),
        Transfer("main/%t", "sim:0", "cpu:0", 16, "read", "main/%d"),
    ),
    reads={
        "main/%s": ("main/%a", "main/%b"),
        "main/%t": ("main/%b",),
        "main/%d": ("main/%s", "main/%t"),
    },
    results=("main/%d",),
)
"""Two operators that share an input, placed apart, and one that reads both."""


def drawn(seen: Seen, *sizes: Sizes) -> Drawing:
    known = sizes or tuple(Sizes(t.bytes, t.bytes) for t in seen.transfers)
    made = draw(seen, PAIR, known)
    assert made is not None
    return made


def boxes(drawing: Drawing) -> dict[str, Box]:
    return {box.name: box for box in drawing.boxes}


def ends(path: str) -> tuple[float, float, float, float]:
    numbers = [float(number) for number in re.findall(r"-?\d+", path)]
    return numbers[0], numbers[1], numbers[-2], numbers[-1]


def test_each_box_and_dot_lies_in_the_lane_of_its_device() -> None:
    drawing = drawn(APART)
    lanes = {lane.device: lane for lane in drawing.lanes}

    assert list(lanes) == list(PAIR)
    places = [(box.device, box.x, box.y) for box in drawing.boxes]
    places += [(dot.device, dot.x, dot.y) for dot in drawing.dots]
    for device, x, y in places:
        lane = lanes[device]
        assert lane.top < y - BOX_HEIGHT / 2
        assert y + BOX_HEIGHT / 2 < lane.top + lane.height
        assert 0 < x < drawing.width


def test_variables_stand_in_the_order_in_which_they_were_computed() -> None:
    found = boxes(drawn(APART))

    assert found["main/%s"].x < found["main/%t"].x < found["main/%d"].x


def test_what_is_given_stands_before_its_first_reader_where_it_was_sent_from() -> None:
    found = boxes(drawn(APART))

    assert (found["main/%a"].kind, found["main/%a"].device) == ("given", "cpu:0")
    assert found["main/%b"].device == "cpu:0"
    assert max(found["main/%a"].right, found["main/%b"].right) < found["main/%s"].left


def test_what_is_returned_is_marked() -> None:
    kinds = {name: box.kind for name, box in boxes(drawn(APART)).items()}

    assert kinds["main/%d"] == "result"
    assert kinds["main/%s"] == "made"


def test_a_transfer_leads_from_its_value_to_a_dot_before_its_reader() -> None:
    drawing = drawn(APART)
    found = boxes(drawing)
    moved = [ends(edge.path) for edge in drawing.edges if edge.kind == "transfer"]

    back = next(dot for dot in drawing.dots if dot.device == "cpu:0")
    assert found["main/%t"].right < back.x < found["main/%d"].left
    x1, y1, x2, y2 = next(line for line in moved if line[3] == back.y)
    assert x1 == round(found["main/%t"].x)
    assert y1 == found["main/%t"].y - BOX_HEIGHT / 2, "it leaves upwards, to the lane above"
    assert (x2, y2) == (round(back.x - 4), back.y)


def test_a_value_from_elsewhere_is_read_at_its_copy() -> None:
    drawing = drawn(APART)
    reader = boxes(drawing)["main/%t"]
    copy = next(dot for dot in drawing.dots if dot.device == "sim:0")
    flows = [ends(edge.path) for edge in drawing.edges if edge.kind == "flow"]

    assert (round(copy.x + 4), copy.y, round(reader.left), reader.y) in flows
    assert not any(edge.kind == "unseen" for edge in drawing.edges)


def test_a_read_on_another_device_without_a_transfer_is_shown_as_such() -> None:
    lying = Seen(APART.placement, APART.transfers[:1], APART.reads, APART.results)

    kinds = [edge.kind for edge in drawn(lying).edges]

    assert kinds.count("unseen") == 1


def test_a_line_rises_over_what_stands_between() -> None:
    chain = Seen(
        {f"main/%{name}": ("cpu:0",) for name in "stu"},
        (),
        {"main/%t": ("main/%s",), "main/%u": ("main/%s",)},
    )

    over, straight = (
        [float(n) for n in re.findall(r"-?\d+", e.path)]
        for e in sorted(drawn(chain).edges, key=lambda edge: -len(set(edge.path.split())))
    )

    assert straight[1] == straight[3]
    assert over[3] == over[1] - BOX_HEIGHT


def test_a_variable_that_ran_on_two_devices_stands_in_both_lanes() -> None:
    twice = Seen({"main/%s": PAIR}, ())

    assert [box.device for box in drawn(twice).boxes] == list(PAIR)


def test_unnamed_transfers_bring_the_far_results_in_order() -> None:
    seen = Seen(
        {"main/%s": ("sim:0",), "main/%t": ("sim:0",)},
        (Transfer(None, "sim:0", "cpu:0", 4), Transfer(None, "sim:0", "cpu:0", 8)),
        {"main/%s": (), "main/%t": ()},
        ("main/%s", "main/%t"),
    )
    drawing = drawn(seen)

    starts = [ends(edge.path)[0] for edge in drawing.edges if edge.kind == "transfer"]

    assert starts == [round(boxes(drawing)[name].x) for name in ("main/%s", "main/%t")]


def test_a_transfer_of_a_view_comes_from_the_value_behind_it() -> None:
    seen = Seen(
        {"main/%p": ("sim:0",), "main/%r": ("cpu:0",)},
        (Transfer("main/%view", "sim:0", "cpu:0", 8, "read", "main/%r"),),
        {"main/%r": ("main/%p",)},
    )

    drawing = drawn(seen)

    assert [box.name for box in drawing.boxes] == ["main/%p", "main/%r"]
    assert [edge.kind for edge in drawing.edges] == ["transfer", "flow"]


def test_without_what_reads_what_a_transfer_leads_to_its_stated_reader() -> None:
    bare = Seen(APART.placement, APART.transfers)

    kinds = [edge.kind for edge in drawn(bare).edges]

    assert kinds.count("flow") == 1


@pytest.mark.parametrize(
    ("sizes", "label"),
    [
        (Sizes(16, 16), "16 B"),
        (Sizes(4, 2500), "4\N{EN DASH}2.5 kB"),
        (Sizes(None, None), ""),
    ],
)
def test_a_copy_shows_its_size_or_the_range_of_several_runs(sizes: Sizes, label: str) -> None:
    seen = Seen({"main/%s": ("sim:0",)}, APART.transfers[:1])

    assert [dot.label for dot in drawn(seen, sizes).dots] == [label]


def test_a_name_of_one_function_is_short_and_never_long() -> None:
    labels = [box.label for box in drawn(APART).boxes]
    assert "%s" in labels

    (box,) = drawn(Seen({"main/%" + "long" * 9: ("cpu:0",)}, ())).boxes
    assert len(box.label) == 14


def test_nothing_and_too_much_are_not_drawn() -> None:
    many = {f"main/%x{index}": ("cpu:0",) for index in range(MOST + 1)}

    assert draw(Seen({}, ()), PAIR, ()) is None
    assert draw(Seen(many, ()), PAIR, ()) is None


def test_a_report_that_makes_little_sense_is_drawn_as_far_as_it_does() -> None:
    odd = Seen(
        {"main/%s": (), "main/%t": ("sim:0",)},
        (Transfer("main/%s", "gone:0", "gone:1", None, reader="main/%s"),),
        {"main/%s": ("main/%x",), "main/%u": ("main/%y",), "main/%t": ("main/%t",)},
        ("main/%nowhere",),
    )

    assert draw(odd, (), (Sizes(None, None),)) is not None
