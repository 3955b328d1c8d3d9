"""Rounds f32 results in the workspace to f16 or bf16, to nearest, ties to even."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from reference_vm.loops.llvm_code import bf16_bits
from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words
from reference_vm.types import DType
from reference_vm.types.dtype import BF16


@final
@dataclass(frozen=True, slots=True)
class RoundForm:
    """What is compiled for; the result is at the last address."""

    dtype: DType
    addresses: int

    def words(self) -> Words:
        return Words(self.addresses, ("wide",))


def print_round(form: RoundForm) -> str:
    """Return the kernel; its range counts elements."""
    out = Assembly()
    kind = "i16" if form.dtype == BF16 else "half"
    head = "define internal void @round(ptr noalias readonly %x, ptr noalias %y, i64 %a, i64 %b)"
    with out.function(f"{head} noinline nounwind"):

        def one(index: Value) -> None:
            value = out.load("float", out.at("%x", "float", index))
            out.store(kind, narrowed(out, value, form.dtype), out.at("%y", kind, index))

        out.each("%a", "%b", "1", one)
    with out.kernel():
        words = form.words()
        x, y = words.inside(out, "wide"), out.word(form.addresses - 1, "ptr")
        out.do(f"call void @round(ptr {x}, ptr {y}, i64 %low, i64 %high)")
    return out.text


def narrowed(out: Assembly, value: Value, dtype: DType) -> Value:
    """Return an f32 as the bits of a bf16, or as an f16; NaN becomes a quiet one."""
    if dtype != BF16:
        return out.step(f"fptrunc float {value} to half")
    return bf16_bits(out.step, value)


__all__ = ["RoundForm", "narrowed", "print_round"]
