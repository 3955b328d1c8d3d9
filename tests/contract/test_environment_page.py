"""Every environment variable that the code reads is on one page of the docs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "environment.md"


def variables(file: Path) -> Iterator[str]:
    """Yield the names of variables that a module reads or sets."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    constants = {
        node.target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        name: ast.expr | None = None
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "os.environ.get",
            "os.getenv",
        ):
            name = node.args[0]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            name = node.slice
        if isinstance(name, ast.Constant):
            yield str(name.value)
        elif name is not None:
            yield str(constants[ast.unparse(name)])


def test_each_variable_is_explained() -> None:
    files = [f for package in ("reference_vm", "hettest") for f in (ROOT / package).rglob("*.py")]
    found = {name for file in files for name in variables(file)}
    page = PAGE.read_text(encoding="utf-8")

    assert {"REFERENCE_VM_THREADS", "REFERENCE_VM_CACHE", "REFERENCE_VM_PROGRAMS"} <= found
    assert sorted(name for name in found if f"`{name}`" not in page) == []
