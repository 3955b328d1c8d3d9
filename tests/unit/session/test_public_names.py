"""``import reference_vm`` offers the public names and loads what they need only when used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import reference_vm as rv


@pytest.mark.parametrize("name", rv.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(rv, name).__name__ == name


def test_the_table_of_names_is_what_is_offered() -> None:
    assert set(rv.__all__) == set(rv._HOME) <= set(dir(rv))


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Machine'"):
        rv.Machine  # noqa: B018


def test_reading_programs_loads_neither_numpy_nor_the_compiler() -> None:
    code = (
        "import sys, reference_vm as rv, reference_vm.text\n"
        "rv.print_module(rv.parse('module { }'))\n"
        "heavy = {'numpy', 'onnx', 'numba', 'llvmlite', 'reference_vm.compiler'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
