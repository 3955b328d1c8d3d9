"""A case gives an item for each run, policy and binding of its roles."""

from __future__ import annotations

from pathlib import Path

import pytest

from hettest.case.expansion import expand, roles_of
from tests.unit.hettest.case.written import PROGRAM, load_text, text

DEVICES = ("cpu:0", "sim:0", "sim:1")
DISTINCT = 'requires = ["distinct-devices"]\n'


def ids(folder: Path, head: str, devices: tuple[str, ...] = DEVICES, **more: str) -> list[str]:
    (case,) = load_text(folder, text(head=head, **more))
    return [item.id.removeprefix("area/name") for item in expand(case, devices)]


def test_the_first_role_is_the_host_and_the_others_go_round(tmp_path: Path) -> None:
    assert ids(tmp_path, DISTINCT) == [
        "[plain,host=cpu:0,accel=sim:0,policy=copy]",
        "[plain,host=cpu:0,accel=sim:1,policy=copy]",
    ]


def test_every_binding_is_every_ordered_choice(tmp_path: Path) -> None:
    found = ids(tmp_path, 'bind = "every"')

    assert len(found) == 6
    assert "[plain,host=sim:1,accel=cpu:0,policy=copy]" in found


def test_one_device_takes_each_kind_once(tmp_path: Path) -> None:
    assert ids(tmp_path, 'bind = "one-device"') == [
        "[plain,host=cpu:0,accel=cpu:0,policy=copy]",
        "[plain,host=sim:0,accel=sim:0,policy=copy]",
    ]


def test_too_few_devices_share_the_last_unless_the_case_forbids_it(tmp_path: Path) -> None:
    assert ids(tmp_path, "", ("cpu:0",)) == ["[plain,host=cpu:0,accel=cpu:0,policy=copy]"]
    assert ids(tmp_path, DISTINCT, ("cpu:0",)) == []
    assert ids(tmp_path, 'requires = ["three-devices"]', DEVICES[:2]) == []


def test_policies_multiply(tmp_path: Path) -> None:
    head = DISTINCT + 'policies = ["copy", "replicate"]'

    found = ids(tmp_path, head, DEVICES[:2])

    assert found == [f"[plain,host=cpu:0,accel=sim:0,policy={p}]" for p in ("copy", "replicate")]


def test_a_program_without_roles_has_each_kind_as_its_default(tmp_path: Path) -> None:
    program = PROGRAM.replace("  vdevice @host, @accel\n", "")
    program = program.replace("@host", "").replace("@accel", "")

    found = ids(tmp_path, "", program=program)

    assert found == ["[plain,default=cpu:0]", "[plain,default=sim:0]"]


def test_a_refused_program_is_one_item(tmp_path: Path) -> None:
    program = PROGRAM.replace("@main(", "@main( //~ anything\n")

    assert ids(tmp_path, "", program=program, run="") == [
        "[refused,host=cpu:0,accel=sim:0,policy=copy]"
    ]


def test_a_fixed_map_binds_by_name(tmp_path: Path) -> None:
    (case,) = load_text(tmp_path, text())

    (item,) = expand(case, DEVICES, {"accel": "sim:1"})

    assert item.binding == {"host": "cpu:0", "accel": "sim:1"}
    assert expand(case, DEVICES, {"other": "sim:1"}) == ()


def test_roles_may_be_left_out_and_chosen_as_default(tmp_path: Path) -> None:
    (case,) = load_text(tmp_path, text(head='unbound = ["accel"]\ndefault = "accel"'))

    item = expand(case, DEVICES)[0]

    assert item.binding == {"host": "cpu:0"}
    (case,) = load_text(tmp_path, text(head='default = "accel"'))
    assert expand(case, DEVICES)[0].default == "sim:0"


@pytest.mark.parametrize(
    ("program", "roles"),
    [
        ("module { vdevice @a, @b vdevice @c }", ("a", "b", "c")),
        ('module { vdevice @a = "cuda:0" scope "x", @b scope "y" }', ("b",)),
        ("module { // vdevice @no\n vdevice @yes // , @no\n fn @f() }", ("yes",)),
        ("module {}", ()),
    ],
)
def test_roles_are_read_off_the_text(program: str, roles: tuple[str, ...]) -> None:
    assert roles_of(program) == roles
