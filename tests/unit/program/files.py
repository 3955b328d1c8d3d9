"""Saved programs taken apart and put together again, changed and with the right digests."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from reference_vm.program import container
from reference_vm.program.loading import read_from
from reference_vm.program.members import CODE, MANIFEST
from reference_vm.program.program import Program
from reference_vm.program.saving import members_of

Change: TypeAlias = Callable[[Any], object]
"""Changes a tree in place."""


def saved(program: Program) -> bytes:
    """Return the file of a program."""
    file = io.BytesIO()
    container.write(file, members_of(program))
    return file.getvalue()


def members(content: bytes) -> dict[str, bytes]:
    """Return the members of a program's file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: Mapping[str, bytes], *, digests: bool = True) -> bytes:
    """Return a file of these members, whose manifest has their digests if it is told to."""
    kept = dict(parts)
    if digests:
        manifest = json.loads(kept[MANIFEST])
        manifest["digests"] = {
            name: hashlib.sha256(part).hexdigest()
            for name, part in kept.items()
            if name != MANIFEST
        }
        kept[MANIFEST] = json.dumps(manifest).encode()
    file = io.BytesIO()
    container.write(file, {name: [part] for name, part in kept.items()})
    return file.getvalue()


def changed(content: bytes, member: str, change: Change) -> bytes:
    """Return a file in which a member that is JSON was changed, with the digests of what it is."""
    parts = members(content)
    tree = json.loads(parts[member])
    change(tree)
    parts[member] = json.dumps(tree).encode()
    return packed(parts)


def recoded(content: bytes, change: Change) -> bytes:
    """Return a file in which the list that is the executable was changed."""
    return changed(content, CODE, lambda tree: change(tree["executable"]))


def loaded(content: bytes) -> Program:
    """Return the program in a file."""
    return read_from(io.BytesIO(content), "a.rvm")
