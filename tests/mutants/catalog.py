"""All mutants, family by family."""

from __future__ import annotations

from typing import Final

from tests.mutants import transfers
from tests.mutants.mutant import Mutant

MUTANTS: Final[tuple[Mutant, ...]] = (*transfers.MUTANTS,)
