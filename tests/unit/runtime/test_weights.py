"""Weights files are read by name, checked, and never outside the module's folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import reference_vm as rv

PROGRAM = """module {{
  fn @main(%x: f32[2]) -> f32[2] {{
    %w = const f32[2] from "{file}" "{key}"
    %y = add(%x, %w)
    return %y
  }}
}}"""
X = np.ones(2, np.float32)


def stored(path: Path, dtype: str = "F32", cut: int = 0) -> None:
    data = np.array([1.0, 2.0], np.float32).tobytes()
    header = json.dumps({"bias": {"dtype": dtype, "shape": [2], "data_offsets": [0, 8]}}).encode()
    content = len(header).to_bytes(8, "little") + header + data
    path.write_bytes(content[: len(content) - cut])


def loaded(folder: Path | None, file: str = "w.safetensors", key: str = "bias") -> rv.Session:
    module = rv.parse(PROGRAM.format(file=file, key=key))
    return rv.Session(rv.compile(module, weights=folder))


def test_a_weight_is_read_from_its_file(tmp_path: Path) -> None:
    stored(tmp_path / "w.safetensors")
    np.testing.assert_array_equal(loaded(tmp_path).run("main", X), [2.0, 3.0])


@pytest.mark.parametrize(
    ("dtype", "cut", "file", "key", "text"),
    [
        ("F32", 0, "w.safetensors", "scale", "the file has no such key"),
        ("F32", 0, "other.safetensors", "bias", "No such file"),
        ("F64", 0, "w.safetensors", "bias", r"holds f64\[2\], expected f32\[2\]"),
        ("F32", 4, "w.safetensors", "bias", "the file is truncated"),
        ("F32", 60, "w.safetensors", "bias", "the file is truncated"),
    ],
    ids=["key", "file", "dtype", "data cut", "header cut"],
)
def test_a_damaged_or_missing_weight_is_located(
    tmp_path: Path, dtype: str, cut: int, file: str, key: str, text: str
) -> None:
    stored(tmp_path / "w.safetensors", dtype, cut)
    with pytest.raises(rv.CompileError, match=text) as caught:
        loaded(tmp_path, file, key)
    (found,) = caught.value.diagnostics
    assert found.code == "invalid-weights"
    assert found.span is not None
    assert found.span.line == 3


def entry(**changed: object) -> dict[str, object]:
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changed


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (entry(data_offsets=[0, 800]), "is at 0 to 800, expected 8 bytes"),
        (entry(data_offsets=[4, 12]), "the file is truncated"),
        (entry(data_offsets=[2**62, 2**62 + 8]), "the file is truncated"),
        (entry(data_offsets=[-8, 0]), "does not say dtype, shape and data_offsets"),
        (entry(data_offsets=[8, 0]), r"data_offsets \[8, 0\], expected a start and an end"),
        (entry(data_offsets=[0, 4, 8]), r"data_offsets \[0, 4, 8\], expected"),
        (entry(data_offsets=[False, 8]), "does not say dtype, shape and data_offsets"),
        (entry(data_offsets=None), "does not say dtype, shape and data_offsets"),
        (entry(dtype=["F32"]), "does not say dtype, shape and data_offsets"),
        (entry(shape=2), "does not say dtype, shape and data_offsets"),
        (entry(shape=["2"]), "does not say dtype, shape and data_offsets"),
        ([1], "does not say dtype, shape and data_offsets"),
    ],
)
def test_a_header_that_contradicts_the_file_is_refused(
    tmp_path: Path, header: object, text: str
) -> None:
    written(tmp_path / "w.safetensors", json.dumps({"bias": header}).encode())
    refused(tmp_path, text)


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (b"[" * 50_000, "the header is not JSON"),
        (b'{"a":' * 50_000, "the header is not JSON"),
        (b'{"bias":', "the header is not JSON"),
        (b"\xff\xfe", "the header is not JSON"),
        (b"9" * 5_000, "the header is not JSON"),
        (b'["bias"]', "is not an object of tensors"),
        (b'"bias"', "is not an object of tensors"),
        (b"", "the header is not JSON"),
    ],
    ids=["lists", "objects", "cut", "bytes", "number", "list", "string", "nothing"],
)
def test_a_header_that_is_no_object_is_refused(tmp_path: Path, header: bytes, text: str) -> None:
    written(tmp_path / "w.safetensors", header)
    refused(tmp_path, text)


@pytest.mark.parametrize("kind", ["fifo", "folder", "loop"])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "w.safetensors"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to(path)
    refused(tmp_path, "the path ")


def test_any_byte_but_zero_is_true(tmp_path: Path) -> None:
    header = {"bias": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}
    written(tmp_path / "w.safetensors", json.dumps(header).encode(), b"\0\2")
    program = PROGRAM.replace("f32", "bool").replace("add", "logical_or")
    module = rv.parse(program.format(file="w.safetensors", key="bias"))
    found = rv.Session(rv.compile(module, weights=tmp_path)).run("main", np.zeros(2, np.bool_))
    assert found.view(np.uint8).tolist() == [0, 1]


def written(path: Path, header: bytes, data: bytes = bytes(8)) -> None:
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


def refused(folder: Path, text: str) -> None:
    with pytest.raises(rv.CompileError, match=text) as caught:
        loaded(folder)
    (found,) = caught.value.diagnostics
    assert found.code == "invalid-weights"
    assert found.span is not None


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    stored(tmp_path / "secret.safetensors")
    (inside / "w.safetensors").symlink_to(tmp_path / "secret.safetensors")
    with pytest.raises(rv.CompileError, match="the path leaves the module's folder"):
        loaded(inside)


def test_a_module_without_folder_says_how_to_name_one() -> None:
    with pytest.raises(rv.CompileError, match="say weights=FOLDER"):
        loaded(None)
