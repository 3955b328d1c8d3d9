"""Products of rows with rows, shared by the pool's threads from inside a kernel.

A kernel whose steps wait for one another has nothing that its caller could divide. Where such a
step is a large product, its rows are divided: the kernel gives the pool a job of its own, and goes
on when that is done. A call from a kernel that is itself a part of a job runs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.jit.pool_code import JOB
from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.dots import DOTS, Product
from reference_vm.targets.numba.vectors import Lanes

POOL: Final = ("pool_run", "pool_state", "threads")
"""The words of a block: the pool's function, its state, and how many threads it has."""

_HALVED: Final = 2
"""Products of elements in the time that other kernels take for one instruction."""

_ROWS: Final = 11
"""Of the arguments of ``@dots``: where those begin that say which rows and columns."""


@final
@dataclass(frozen=True, slots=True)
class Shared:
    """The pool, as a kernel's block names it."""

    run: Value
    state: Value
    threads: Value

    def call(
        self,
        out: Assembly,
        product: Product,
        rows: tuple[Value, Value],
        columns: tuple[Value, Value],
    ) -> None:
        """Write a call that does the rows and columns from one place to another."""
        given = product.arguments(rows, columns)
        pool = [f"ptr {self.run}", f"ptr {self.state}", f"i64 {self.threads}"]
        out.do(f"call void @shared({', '.join([*given, *pool])})")


def print_shared(out: Assembly, lanes: Lanes) -> None:
    """Write the function ``@shared`` into a module that has ``@dots``."""
    _print_part(out)
    pool = ("ptr %run", "ptr %state", "i64 %threads")
    with out.function(
        f"define internal void @shared({', '.join((*DOTS, *pool))}) noinline nounwind"
    ):
        rows = out.sub("%m_end", "%m")
        known = out.step("icmp ne ptr %run, null")
        out.choose(
            known,
            lambda: _ask(out, lanes, rows),
            lambda: out.do(f"call void @dots({', '.join(DOTS)})"),
        )


def _print_part(out: Assembly) -> None:
    """Write the code of a job: its range counts rows, its block is the arguments of ``@dots``."""
    head = "define internal void @part(ptr %block, i64 %low, i64 %high) nounwind"
    with out.function(head):
        given = [f"{kind} {out.word(i, kind)}" for i, kind in enumerate(_kinds())]
        given[_ROWS : _ROWS + 2] = ["i64 %low", "i64 %high"]
        out.do(f"call void @dots({', '.join(given)})")


def _ask(out: Assembly, lanes: Lanes, rows: Value) -> None:
    """Write a call of the pool: each thread gets about as many rows."""
    block = _words(out, [tuple(argument.split()) for argument in DOTS])
    columns = out.sub("%p_end", "%p")
    work = out.mul(out.mul(rows, "%depth"), columns)
    each, _ = out.divide(out.add(rows, out.sub("%threads", "1")), "%threads")
    vectors, _ = out.divide(out.add(each, str(lanes.count - 1)), str(lanes.count))
    values = {
        "entry": ("ptr", "@part"),
        "block": ("ptr", block),
        "words": ("i64", str(len(DOTS))),
        "low": ("i64", "%m"),
        "high": ("i64", "%m_end"),
        "grain": ("i64", out.mul(vectors, str(lanes.count))),
        "work": ("i64", out.divide(work, str(_HALVED))[0]),
    }
    job = _words(out, [values.get(name, ("i64", "0")) for name in JOB])
    out.do(f"call void %run(ptr %state, ptr {job})")


def _words(out: Assembly, values: Sequence[tuple[str, ...]]) -> Value:
    """Write words to the stack; return where they are."""
    memory = out.step(f"alloca [{len(values)} x i64], align 64")
    for i, (kind, value) in enumerate(values):
        out.store(kind, value, out.at(memory, "i64", str(i)))
    return memory


def _kinds() -> list[str]:
    return [argument.split()[0] for argument in DOTS]


__all__ = ["POOL", "Shared", "print_shared"]
