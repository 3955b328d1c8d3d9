"""All mutants, family by family."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.mutants import (
    compilation,
    defaults,
    evidence,
    functions,
    kernel_edges,
    kernels,
    memory_plan,
    numerics,
    placement,
    products,
    regions,
    reports,
    rewriting,
    simplifying,
    storage,
    transfers,
)
from tests.mutants.mutant import Mutant

FAMILIES: Final[Mapping[str, tuple[Mutant, ...]]] = MappingProxyType(
    {
        "Transfers": transfers.MUTANTS,
        "Placement": placement.MUTANTS,
        "The default device": defaults.MUTANTS,
        "Reports": reports.MUTANTS,
        "Evidence": evidence.MUTANTS,
        "Kernels": kernels.MUTANTS,
        "Kernels at the edges": kernel_edges.MUTANTS,
        "Products": products.MUTANTS,
        "Numerics": numerics.MUTANTS,
        "Storage": storage.MUTANTS,
        "Memory plan": memory_plan.MUTANTS,
        "Compilation": compilation.MUTANTS,
        "Rewriting": rewriting.MUTANTS,
        "Simplifying": simplifying.MUTANTS,
        "Regions": regions.MUTANTS,
        "Functions": functions.MUTANTS,
    }
)

MUTANTS: Final[tuple[Mutant, ...]] = tuple(m for family in FAMILIES.values() for m in family)
