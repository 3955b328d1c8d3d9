"""The kinds of native kernels, one line each; the first that takes a function compiles it."""

from __future__ import annotations

from typing import Final

from reference_vm.targets.numba import (
    convolution,
    counting,
    dividing,
    fourier,
    gathering,
    movement,
    nests,
    pooling,
    products,
    recurrent,
    trees,
)
from reference_vm.targets.numba.making import Maker

MAKERS: Final[tuple[Maker, ...]] = (
    nests.make,
    products.make,
    convolution.make,
    movement.make,
    pooling.make,
    fourier.make,
    recurrent.make,
)

REPORTING: Final[tuple[Maker, ...]] = (gathering.make, trees.make, dividing.make, counting.make)
"""The makers of kernels that note bad data, asked for functions with operators that may fail."""
