"""Mutants whose kernels multiply matrices wrongly: tiles, panels, and what follows on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

import numpy as np

from reference_vm import linking
from reference_vm.bytecode.kernel import Kernel
from reference_vm.ir.nodes import Binding, Block, Call, Function, Var
from reference_vm.jit.panels import pack
from reference_vm.runtime import image
from reference_vm.targets.catalog import target_for
from reference_vm.targets.numba import products
from reference_vm.targets.numba.makers import MAKERS
from reference_vm.targets.numba.making import Maker, Tools
from reference_vm.targets.numba.target import NumbaTarget
from tests.mutants.mutant import Mutant, Replacement, kill

FOLLOWED: Final = "ops/matmul/followed"

_number: Final = count()


def making(make: Maker) -> Replacement:
    """Return a linker with a target of its own, whose first maker is ``make``."""
    # Kernels are kept by their target's name: these are nobody else's.
    name = f"numba, changed {next(_number)}"
    target = NumbaTarget(name=name, makers=(make, *MAKERS))
    return Replacement(
        linking,
        "target_for",
        lambda kind, executor=None: target if kind != "cuda" else target_for(kind, executor),
    )


@dataclass(frozen=True)
class _Changed:
    """A kernel whose results, or their computation, are changed."""

    kernel: Any
    change: Callable[[Sequence[Any], Any], Any]
    """From the operands and a result to what stands in its place."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def native(self, inputs: Sequence[Any]) -> None:
        return None

    def __call__(self, xp: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> Sequence[Any]:
        results = self.kernel(xp, inputs, outputs)
        for result in results:
            result[...] = self.change(inputs, result)
        return tuple(results)


def changing(change: Callable[[Sequence[Any], Any], Any]) -> Replacement:
    """Return a linker whose products have changed results."""

    def make(function: Function, tools: Tools) -> Kernel | None:
        kernel = products.make(function, tools)
        return None if kernel is None else _Changed(kernel, change)

    return making(make)


def _without_last_column(_: Sequence[Any], result: Any) -> Any:
    """Leave a last panel out that is not full."""
    changed = result.copy()
    changed[..., changed.shape[-1] // 16 * 16 :] = 0
    return changed


def _in_halves(inputs: Sequence[Any], result: Any) -> Any:
    """Add up the products of halves in halves."""
    x, y = inputs[:2]
    if x.dtype != np.float16 or result.shape != (*x.shape[:-1], y.shape[-1]):
        return result
    total = np.zeros(result.shape, np.float16)
    for k in range(x.shape[-1]):
        total = (total + x[..., k, None] * y[..., k, None, :]).astype(np.float16)
    return total


def _activation_first(function: Function, tools: Tools) -> Kernel | None:
    """Let the activation of ``relu(x + bias)`` come before the bias."""
    bindings = tuple(function.body.bindings())
    calls = [b.value.op for b in bindings if isinstance(b.value, Call)]
    if calls != ["matmul", "add", "relu"]:
        return None
    product, bias, _ = bindings
    assert isinstance(bias.value, Call)
    (other,) = (a for a in bias.value.args if a != product.var)
    assert isinstance(other, Var)
    active, result = Var("active", product.var.type), Var("result", product.var.type)
    body = (
        product,
        Binding(active, Call("relu", (product.var,))),
        Binding(result, Call("add", (active, other))),
    )
    return products.make(replace(function, body=Block(body, result)), tools)


def _rows_apart(matrix: Any, width: int) -> Any:
    """Put a matrix into panels whose rows are one off."""
    return pack(np.roll(matrix, 1, axis=0), width)


MUTANTS: Final = (
    Mutant(
        name="drops-the-last-columns",
        breaks="leaves the last columns of a product out where they fill no vector",
        kills=(
            kill(f"{FOLLOWED}[bias,dtype=f64,default=sim:0]", "values"),
            kill("ops/matmul/shapes[plain,of=wide,default=cpu:0]", "values"),
        ),
        loading=(changing(_without_last_column),),
    ),
    Mutant(
        name="multiplies-in-halves",
        breaks="adds up the products of halves in halves",
        kills=(kill("ops/matmul/half[ones,default=cpu:0]", "values"),),
        loading=(changing(_in_halves),),
    ),
    Mutant(
        name="activates-before-the-bias",
        breaks="takes the activation after a product before its bias",
        kills=(
            kill(f"{FOLLOWED}[bias,dtype=f32,default=cpu:0]", "values"),
            kill(f"{FOLLOWED}[many-rows,dtype=f16,default=sim:0]", "values"),
        ),
        loading=(making(_activation_first),),
    ),
    Mutant(
        name="packs-rows-apart",
        breaks="puts the rows of a weight into panels one row off",
        kills=(kill(f"{FOLLOWED}[weight,dtype=f32,default=cpu:0]", "values"),),
        loading=(Replacement(image, "pack", _rows_apart),),
    ),
)
