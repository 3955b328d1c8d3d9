"""Programs that were compiled before, on disk.

An entry holds what `Program.save` writes, but for the constants of the module that it was compiled
from: whoever asks for it has those. Its key is the digest of all that decides a program
(`identity`), so an entry is never out of date. Small programs are not kept: to compile them takes
no longer than to look.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from reference_vm.diagnostics import CompileError
from reference_vm.ir.nodes import Module, Weight
from reference_vm.ir.rewrite import walk
from reference_vm.jit.object_cache import ObjectCache, programs_folder
from reference_vm.program import container, identity
from reference_vm.program.loading import read_from
from reference_vm.program.program import Program
from reference_vm.program.saving import members_of

LEAST: Final = 64
"""Bindings of a program that is kept."""

_LOG: Final = logging.getLogger(__name__)


@final
@dataclass(frozen=True)
class Place:
    """Where the program that a module is compiled to is kept."""

    cache: ObjectCache
    module: Module
    key: str

    def get(self) -> Program | None:
        """Return the program, if it was compiled before."""
        found = self.cache.get(self.key)
        if found is None:
            return None
        given = {str(i): data for i, data in enumerate(identity.constants_of(self.module))}
        try:
            return read_from(io.BytesIO(found), "a cached program", given)
        except CompileError as error:
            _LOG.warning("a program is compiled again: %s", error)
            return None

    def put(self, program: Program) -> None:
        """Keep a program that was compiled now."""
        names: dict[bytes, str] = {}
        for index, data in enumerate(identity.constants_of(self.module)):
            names.setdefault(data, str(index))
        file = io.BytesIO()
        container.write(file, members_of(program, names))
        self.cache.put(self.key, file.getvalue())


def place_of(module: Module, options: Mapping[str, object]) -> Place | None:
    """Return where the program of a module and these options is kept; ``None`` if it is not.

    A module that names weights files is not: their content may decide the program, and change.
    """
    folder = programs_folder()
    if folder is None or not _is_kept(module):
        return None
    try:
        key = identity.key(module, options)
    except RecursionError:  # regions nest deep, and so does what is hashed of them
        return None
    return Place(ObjectCache(folder, ".rvm", "program"), module, key)


def _is_kept(module: Module) -> bool:
    count = 0
    for function in module.functions:
        for binding in walk(function.body):
            if isinstance(binding.value, Weight):
                return False
            count += 1
    return count >= LEAST
