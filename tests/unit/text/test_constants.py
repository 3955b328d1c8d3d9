"""Constants are checked against dtype and shape, and printed so that their bits come back."""

from __future__ import annotations

import struct

import pytest

from reference_vm.ir.nodes import Constant, Weight
from tests.unit.text.programs import body, codes, printed, problems, value


def data(expression: str) -> bytes:
    constant = value(expression)
    assert isinstance(constant, Constant)
    return constant.data


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("const f32[2] [1.0, -2.5]", struct.pack("<2f", 1.0, -2.5)),
        ("const f32[] 1", struct.pack("<f", 1.0)),
        ("const i16[2, 2] [1, -2, 3, 4]", struct.pack("<4h", 1, -2, 3, 4)),
        ("const u64[] 18446744073709551615", b"\xff" * 8),
        ("const i64[] -9223372036854775808", struct.pack("<q", -(2**63))),
        ("const bool[2] [true, false]", b"\1\0"),
        ("const i4[2] [-8, 7]", b"\xf8\x07"),
        ("const f64[3] splat -inf", struct.pack("<d", float("-inf")) * 3),
        ("const f32[0, 3] []", b""),
        ('const f32[1] hex "0000803f"', struct.pack("<f", 1.0)),
        ("const f32[] nan", b"\x00\x00\xc0\x7f"),
        ("const f16[] nan", b"\x00\x7e"),
        ("const bf16[] nan", b"\xc0\x7f"),
        ("const f8e4m3fn[] nan", b"\x7f"),
        ("const f8e5m2[] nan", b"\x7e"),
        ("const f32[] -0.0", b"\x00\x00\x00\x80"),
    ],
)
def test_the_data_of_a_constant_is_little_endian_and_row_major(
    expression: str, expected: bytes
) -> None:
    assert data(expression) == expected


def test_numbers_are_rounded_once_also_to_short_floats() -> None:
    above_the_middle = "1.000000059604644775390625000000000000000001"

    assert data(f"const f32[] {above_the_middle}") == struct.pack("<f", 1.0000001192092896)
    assert data("const f32[] 1.000000059604644775390625") == struct.pack("<f", 1.0)
    assert data("const bf16[] 1.00390625000000000000000001") == b"\x81\x3f"


def test_a_weight_is_read_by_file_and_key() -> None:
    weight = value('const f32[2] from "sub/w.safetensors" "layer.1/bias"')

    assert isinstance(weight, Weight)
    assert (weight.file, weight.key, weight.shape) == ("sub/w.safetensors", "layer.1/bias", (2,))


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("const f32[2] [1.0]", "element-count"),
        ("const f32[2] 1.0", "element-count"),
        ("const f32[] []", "element-count"),
        ("const u8[] 256", "literal-out-of-range"),
        ("const u8[] -1", "literal-out-of-range"),
        ("const i8[2] [127, 128]", "literal-out-of-range"),
        ("const i64[] 9" + "0" * 6000, "literal-out-of-range"),
        ("const f32[] 1e39", "literal-out-of-range"),
        ("const f64[] 1e309", "literal-out-of-range"),
        ("const f16[] 65520.0", "literal-out-of-range"),
        ("const f8e4m3fn[] inf", "literal-out-of-range"),
        ("const i32[] nan", "literal-type"),
        ("const i32[] 1.0", "literal-type"),
        ("const i32[] true", "literal-type"),
        ("const bool[] 1", "literal-type"),
        ("const f32[] true", "literal-type"),
        ('const f32[] hex "00"', "invalid-hex"),
        ('const f32[] hex "0"', "invalid-hex"),
        ('const f32[] hex "zz000000"', "invalid-hex"),
        ('const bool[] hex "02"', "invalid-hex"),
        ('const u4[] hex "10"', "invalid-hex"),
        ('const f32[] from "/etc/w" "k"', "weights-path"),
        ('const f32[] from "a/../../w" "k"', "weights-path"),
        ('const f32[] from "c:\\\\w" "k"', "weights-path"),
        ('const f32[] from "" "k"', "weights-path"),
        ("const i8[99999999999] splat 1", "constant-too-large"),
        ("const i8[4000000000, 4000000000] splat 1", "constant-too-large"),
    ],
)
def test_a_constant_that_cannot_be_is_one_located_diagnostic(expression: str, code: str) -> None:
    found = problems(body(f"%v = {expression}"))

    assert [d.code for d in found] == [code]
    assert found[0].span is not None
    assert found[0].span.line == 3


def test_all_wrong_elements_are_reported_at_once() -> None:
    text = body("%v = const u8[3] [256, 1.5, -1]\n%w = const i8[] 128")

    assert codes(text) == ["literal-out-of-range", "literal-type", *["literal-out-of-range"] * 2]


@pytest.mark.parametrize(
    "expression",
    [
        "const f32[3] [0.1, 1e-05, 16777216.0]",
        "const f64[] 0.30000000000000004",
        "const f16[2] [0.1, 65500.0]",
        "const bf16[] 0.1",
        "const f32[3] [nan, inf, -inf]",
        "const f32[2] [-0.0, 0.0]",
        "const bool[] true",
        "const f32[0, 3] []",
        'const f32[2] hex "0100c07f00000000"',
        'const f32[] hex "0000c0ff"',
    ],
)
def test_a_constant_prints_as_it_is_written_canonically(expression: str) -> None:
    assert printed(expression) == expression


def test_constants_above_64_elements_are_printed_as_hex() -> None:
    assert printed("const u8[64] splat 1").startswith("const u8[64] [1, 1,")
    assert printed("const u8[65] splat 1") == f'const u8[65] hex "{"01" * 65}"'
