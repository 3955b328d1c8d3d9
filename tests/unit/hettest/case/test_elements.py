"""What cannot be written down is refused with its line, before anything runs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hettest.case.lint import problems_in
from hettest.case.loader import load
from hettest.case.model import Tensor
from hettest.case.tensors import value
from hettest.errors import CaseError
from tests.unit.hettest.case.written import PROGRAM, load_text, text, write

A = '{ dtype = "f32", shape = [4], data = [1, 2, 3, 4] }'
LINE = text().splitlines().index(f"args.a = {A}") + 1


def problems(folder: Path) -> list[str]:
    return [str(problem) for problem in problems_in(sorted(folder.rglob("*.toml")), folder)]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('dtype = "bool", shape = [1], data = [2]', "2 is not of dtype bool"),
        ('dtype = "f32", shape = [1], data = [true]', "true is not of dtype f32"),
        ('dtype = "i32", shape = [1], data = [true]', "true is not of dtype i32"),
        ('dtype = "i8", shape = [1], data = [128]', "128 is out of the range of i8"),
        ('dtype = "u8", shape = [1], fill = -1', "-1 is out of the range of u8"),
        ('dtype = "i8", shape = [1], data = [1.5]', "1.5 is not an integer, as i8 needs"),
        ('dtype = "f16", shape = [1], data = [65536]', "65536 overflows f16"),
        ('dtype = "bf16", shape = [1], fill = 1e39', "1e+39 overflows bf16"),
        ('dtype = "f32", shape = [1], data = [-1e39]', "-1e+39 overflows f32"),
        ('dtype = "f32", shape = [4], hex = "00"', "found 1 bytes, expected 16 for f32[4]"),
        ('dtype = "f32", shape = [2, 2], data = [1]', "found 1 elements, expected 4 for [2, 2]"),
        ('dtype = "f32", shape = [1000000, 1000], fill = 1', "has 1000000000 elements"),
        ('dtype = "f32", shape = [2.0], fill = 1', "2.0 is not of type 'integer'"),
        (
            'dtype = "f32", shape = [1], random = { seed = 1, low = nan, high = 1 }',
            "both must be finite",
        ),
        (
            'dtype = "f32", shape = [1], random = { seed = 1, low = 0, high = inf }',
            "both must be finite",
        ),
        (
            'dtype = "f32", shape = [1], random = { seed = 1, low = 2, high = 1 }',
            "low = 2 is greater than high = 1",
        ),
        (
            'dtype = "i8", shape = [1], random = { seed = 1, low = 0, high = 300 }',
            "beyond the range of i8",
        ),
        (
            'dtype = "bool", shape = [1], random = { seed = 1, low = 0, high = 2 }',
            "beyond the range of bool",
        ),
        (
            'dtype = "f64", shape = [1], random = { seed = 1, low = -1.7e308, high = 1.7e308 }',
            "high - low overflows",
        ),
        (
            f'dtype = "f32", shape = [1], random = {{ seed = {1 << 64}, low = 0, high = 1 }}',
            "out of the range of u64",
        ),
    ],
)
def test_a_tensor_that_cannot_be_is_refused_on_its_line(
    tmp_path: Path, written: str, message: str
) -> None:
    with pytest.raises(CaseError) as caught:
        load_text(tmp_path, text().replace(A, f"{{ {written} }}"))

    assert message in str(caught.value)
    assert f"name.toml:{LINE}: run[0].args.a" in str(caught.value)


@pytest.mark.parametrize(
    "written",
    [
        'dtype = "f16", shape = [3], data = [65504, -inf, nan]',
        'dtype = "u64", shape = [1], data = [18446744073709551615]',
        'dtype = "i8", shape = [2], data = [-128, 127]',
        'dtype = "bool", shape = [2], random = { seed = 1, low = 0, high = 1 }',
        'dtype = "f32", shape = [0], data = []',
    ],
)
def test_what_is_just_in_range_is_read(tmp_path: Path, written: str) -> None:
    assert load_text(tmp_path, text().replace(A, f"{{ {written} }}"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'format = 1\nsummary = "\xff"\n', "name.toml:2: byte 0xff is not UTF-8"),
        (b"x = " + b"[" * 20000, "name.toml: is nested too deeply"),
        (b"x = 1" + b"0" * 5000, "name.toml:1: found an integer of more than 40 digits"),
        (text().replace(A, "[" * 900 + "]" * 900).encode(), "name.toml: is nested too deeply"),
        (text().replace("level   = 3", "level = 2.0").encode(), "2.0 is not of type 'integer'"),
        (text(tail="[sweep]\nd = []\n").encode(), "sweep.d: has no values"),
        (text(tail="[sweep.d]\n").encode(), "sweep.d: has no values"),
        (text(tail='[sweep]\nd = "x"\n').encode(), "sweep.d: found 'x', expected a list"),
        (text(tail="[sweep]\nd = [1, 1]\n").encode(), "sweep.d: has 1 twice"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_located_problem(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = write(tmp_path, "")
    path.write_bytes(content)

    assert message in problems(tmp_path)[0]


def test_a_folder_and_a_looping_link_are_located_problems(tmp_path: Path) -> None:
    (tmp_path / "area" / "folder.toml").mkdir(parents=True)
    os.symlink("loop.toml", tmp_path / "area" / "loop.toml")

    folder, loop = problems(tmp_path)

    assert folder.endswith("area/folder.toml: cannot be read: Is a directory")
    assert "area/loop.toml: cannot be read: Too many levels" in loop


def test_codes_that_no_diagnostic_has_are_found(tmp_path: Path) -> None:
    literal = '{ dtype = "f32", shape = [4], data = [1, -4, -11, -20] }'
    write(tmp_path, text().replace(f"result = {literal}", 'error = "division-by-nought"'))
    assert "run plain.error: division-by-nought is no code" in problems(tmp_path)[0]

    marked = PROGRAM.replace("%d = subtract", "%d subtract").replace("%t)  @host", "%t)  //~ CODE")
    write(tmp_path, text(marked.replace("CODE", "syntax-eror"), run=""))
    assert "syntax-eror is no code; did you mean syntax-error?" in problems(tmp_path)[0]
    write(tmp_path, text(marked.replace("CODE", "Syntax"), run=""))
    assert "has a marker without a code" in problems(tmp_path)[0]


def _missing(path: Path) -> None:
    """Write nothing."""


def _pickled(path: Path) -> None:
    np.save(path, np.array([{}], object), allow_pickle=True)


def _empty(path: Path) -> None:
    path.touch()


def _several(path: Path) -> None:
    np.savez(path, a=np.zeros(4))
    path.with_name("input.npy.npz").rename(path)


@pytest.mark.parametrize("make", [_missing, _pickled, _empty, _several])
def test_a_file_of_elements_must_hold_one_plain_array(tmp_path: Path, make: object) -> None:
    assert callable(make)
    path = write(tmp_path, text().replace(A, '{ dtype = "f32", shape = [4], file = "input.npy" }'))
    make(path.with_name("input.npy"))

    (found,) = problems(tmp_path)
    assert f"name.toml:{LINE}: input.npy " in found
    (case,) = load(path, tmp_path)
    written = case.runs[0].args["a"]
    assert isinstance(written, Tensor)
    with pytest.raises(CaseError, match=r"input\.npy"):
        value(written, path)
