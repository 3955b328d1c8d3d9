"""All mutants, family by family."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.mutants import compilation, evidence, kernels, placement, reports, storage, transfers
from tests.mutants.mutant import Mutant

FAMILIES: Final[Mapping[str, tuple[Mutant, ...]]] = MappingProxyType(
    {
        "Transfers": transfers.MUTANTS,
        "Placement": placement.MUTANTS,
        "Reports": reports.MUTANTS,
        "Evidence": evidence.MUTANTS,
        "Kernels": kernels.MUTANTS,
        "Storage": storage.MUTANTS,
        "Compilation": compilation.MUTANTS,
    }
)

MUTANTS: Final[tuple[Mutant, ...]] = tuple(m for family in FAMILIES.values() for m in family)
