"""The package of a new backend: adapter, waivers, tests and CI, from the templates beside this."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Final

from hettest.errors import UsageError
from hettest.files import write_folder

TEMPLATES: Final = Path(__file__).parent / "templates"

FILES: Final[Mapping[str, str]] = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    ".gitignore": "gitignore.txt",
    ".github/workflows/conformance.yml": "conformance.yml.txt",
    "$name/__init__.py": "init.py.txt",
    "$name/conformance.py": "adapter.py.txt",
    "$name/waivers.toml": "waivers.toml.txt",
    "tests/conftest.py": "conftest.py.txt",
    "tests/test_adapter.py": "test_adapter.py.txt",
    "tests/test_conformance.py": "test_conformance.py.txt",
}
"""Each file of the package, and the template that it is made from."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_TAKEN: Final = frozenset({"cpu", "hettest", "numpy", "pytest", "reference_vm", "tests"})
_WAIVERS: Final = '\n    waivers = Path(__file__).with_name("waivers.toml")'


def render(template: str, name: str, device: str | None = None, *, packaged: bool = True) -> str:
    """Return the text of a template.

    Args:
        template: The name of a file in `TEMPLATES`.
        name: What the backend is called.
        device: The kind of its pretended device; called as the backend if ``None``.
        packaged: Whether the adapter has a waiver file beside it.
    """
    text = Template((TEMPLATES / template).read_text(encoding="utf-8"))
    return text.substitute(
        name=name,
        device=device or name,
        path_import="from pathlib import Path\n\n" if packaged else "",
        waivers=_WAIVERS if packaged else "",
    )


def check_name(name: str) -> None:
    """Find out whether a package, a device kind and an entry point can have this name.

    Raises:
        UsageError: They cannot; says why.
    """
    if not _NAME.fullmatch(name):
        near = re.sub(r"\W+", "_", name).strip("_").lower()
        meant = f", such as {near}" if _NAME.fullmatch(near) else ""
        raise UsageError(
            f"found the name {name!r}, expected lower-case letters, digits and _{meant}"
        )
    if keyword.iskeyword(name) or name in sys.stdlib_module_names or name in _TAKEN:
        raise UsageError(f"the name {name} is taken: it means something else in Python or here")


def write(name: str, into: Path) -> tuple[Path, ...]:
    """Write the package into a new folder ``into/name``, and return its files.

    Raises:
        UsageError: The name cannot be used, the folder exists, or it cannot be written.
    """
    check_name(name)
    root = into / name
    if root.exists() or root.is_symlink():
        raise UsageError(f"found {root} already; choose another name, or another folder by --into")
    files = {
        Template(target).substitute(name=name): render(template, name).encode()
        for target, template in FILES.items()
    }
    return write_folder(root, files)
