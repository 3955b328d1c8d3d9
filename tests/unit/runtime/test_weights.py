"""Weights files are read by name, checked, and never outside the module's folder."""

from __future__ import annotations

import json
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
