"""Numbers at equal distances, as machine code: ``first + i * step``, integers wrapping around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words

_WORDS: Final = Words(1, ("first", "step"))


@final
@dataclass(frozen=True, slots=True)
class CountForm:
    """What is compiled for."""

    kind: str
    """LLVM's, of an element."""

    bytes: int

    @property
    def words(self) -> Words:
        """Its block: the first number and the distance, as bits of an element."""
        return _WORDS


def print_count(form: CountForm) -> str:
    """Return the kernel; its range counts elements."""
    out, kind = Assembly(), form.kind
    is_float = not kind.startswith("i")
    with out.kernel():
        result = out.word(0, "ptr")
        places = [out.at("%block", "i64", str(_WORDS.position(n))) for n in _WORDS.names]
        first, step = (out.load(kind, place) for place in places)

        def one(index: Value) -> None:
            if is_float:
                place = out.step(f"sitofp i64 {index} to {kind}")
                value = out.step(f"fadd {kind} {out.step(f'fmul {kind} {place}, {step}')}, {first}")
            else:
                place = out.step(f"trunc i64 {index} to {kind}") if kind != "i64" else index
                value = out.step(f"add {kind} {out.step(f'mul {kind} {place}, {step}')}, {first}")
            out.store(kind, value, out.at(result, kind, index), form.bytes)

        out.each("%low", "%high", "1", one)
    return out.text


__all__ = ["CountForm", "print_count"]
