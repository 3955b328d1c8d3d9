"""Runs a kernel's machine code from Python: stage after stage, on the pool's threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from reference_vm.bytecode.kernel import NativeCall, Stage

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.pool import Pool

Array: TypeAlias = Any

_LINE: Final = 64


def run_native(pool: Pool, call: NativeCall, arrays: Sequence[Array]) -> bool:
    """Run the stages of ``call`` on its operands and results, in the order of its block's words.

    The interpreter's lock is given up meanwhile. Blocks are copied, so calls may overlap.

    Returns:
        Whether the data was good; if not, the results are worth nothing.
    """
    addresses = [x.ctypes.data for x in arrays]
    workspace, place = _memory(call.workspace)
    good = True
    for stage in call.stages:
        good &= _run_stage(pool, stage, addresses, place if call.workspace else None)
    del workspace
    return good


def _run_stage(pool: Pool, stage: Stage, addresses: Sequence[int], workspace: int | None) -> bool:
    block = stage.block.copy()
    block[: len(addresses)] = addresses
    if workspace is not None:
        block[stage.workspace_word] = workspace
    each = -(-stage.scratch // _LINE) * _LINE
    scratch, place = _memory(each * pool.threads)
    job = (
        *(stage.entry, block.ctypes.data, len(block), stage.low, stage.high, stage.grain),
        *(stage.work, place, each, stage.scratch_word),
    )
    pool.run(job)
    del scratch
    return not (stage.fault_word and block[stage.fault_word])


def _memory(nbytes: int) -> tuple[Array, int]:
    """Return fresh memory, and the first address in it that is aligned."""
    memory = np.empty(nbytes + _LINE, dtype=np.uint8)
    address = memory.ctypes.data
    return memory, address + -address % _LINE
