"""The members of a saved program, and what its manifest says.

=====================  ==========================================================================
``manifest.json``      format, version, what wrote it, executor, device map, digests of the others
``code.json``          the bytecode and its tables (`bytecode.serializer`)
``kernels.hir``        the primitive functions that kernels are made from, as text
``module.hir``         the placed and lowered module, as text, for people
``weights.safetensors``  the elements of the constants
=====================  ==========================================================================
"""

from __future__ import annotations

from typing import Final

MANIFEST: Final = "manifest.json"
CODE: Final = "code.json"
KERNELS: Final = "kernels.hir"
MODULE: Final = "module.hir"
WEIGHTS: Final = "weights.safetensors"

GIVEN: Final = "module"
"""Where constants lie that the reader of a file has: those of the module it was compiled from."""

MEMBERS: Final = (MANIFEST, CODE, KERNELS, MODULE, WEIGHTS)

FORMAT: Final = "reference-vm-program"
VERSION: Final = 1

LARGEST_TEXT: Final = 1 << 30
"""Bytes of a member that is text, at most."""

MANIFEST_KEYS: Final = ("format", "version", "writer", "executor", "devices", "digests")

DISTRIBUTION: Final = "hettest"
"""The package whose version is written."""
