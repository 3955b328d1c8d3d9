"""Instructions that do work: kernels, operators on the host, copies, and the memory they write."""

from __future__ import annotations

from collections.abc import Sequence

from reference_vm.bytecode.checking.held import (
    Anything,
    Dims,
    HostData,
    Storage,
    Tensor,
    fits,
    word,
)
from reference_vm.bytecode.checking.held import shapes_agree as agree
from reference_vm.bytecode.checking.sizes import bound_by, filled, is_at_most
from reference_vm.bytecode.checking.state import HOST, Problems, Signature, State
from reference_vm.bytecode.instructions import (
    AllocStorage,
    Copy,
    HostOp,
    Launch,
    Register,
    TakeStorage,
    Target,
)
from reference_vm.types import TensorType, Unknown
from reference_vm.types.dim import add, multiply, product


def launch(state: State, instruction: Launch) -> Problems:
    device = instruction.device
    kind = state.executable.kernels[instruction.kernel].kind
    if kind != state.executable.devices[device].kind:
        yield f"a kernel for {kind} is launched on {state.executable.devices[device]}"
    if len(instruction.values) != len(instruction.args):
        yield f"{len(instruction.args)} arguments have {len(instruction.values)} names"
    signature = state.signatures[instruction.kernel]
    wrong = [*arguments(state, instruction.args, signature)]
    wrong += _results(instruction.targets, signature)
    yield from wrong
    if wrong:
        return
    state.doubts += not _is_told(state, instruction, signature)
    for register in instruction.args:
        held = state.held[register]
        if isinstance(held, Tensor) and held.device not in (None, device):
            yield f"register {register} lies on another device than the kernel"
    if len({t.register for t in instruction.targets}) < len(instruction.targets):
        yield "two results are kept in one register"
    for target in instruction.targets:
        yield from _make(state, target, device)


def arguments(state: State, args: Sequence[Register], signature: Signature) -> Problems:
    """Yield a problem for each argument that is not of its parameter's type."""
    if len(args) != len(signature.params):
        yield f"the kernel takes {len(signature.params)} arguments, not {len(args)}"
        return
    for register, type_ in zip(args, signature.params, strict=True):
        held = state.held[register]
        if isinstance(held, HostData) and isinstance(type_, TensorType):
            held = Tensor(held.dtype, held.shape, None)
        if not fits(held, type_):
            yield state.wrong(register, str(type_))


def _is_told(state: State, launch: Launch, signature: Signature) -> bool:
    """Whether the results are certainly of the sizes that the instruction says.

    A result whose size is not said is told by the kernel's shape function, which checks the others.
    """
    if not all(target.is_sized for target in launch.targets):
        return True
    if len(launch.args) != len(signature.params):
        return False
    held = [state.held[register] for register in launch.args]
    bound, fit = bound_by(held, signature.params)
    return fit and all(
        isinstance(type_, TensorType)
        and type_.shape is not None
        and tuple(filled(dim, bound) for dim in type_.shape) == target.shape
        for target, type_ in zip(launch.targets, signature.results, strict=True)
    )


def _results(targets: Sequence[Target], signature: Signature) -> Problems:
    if len(targets) != len(signature.results):
        yield f"the kernel has {len(signature.results)} results, not {len(targets)}"
        return
    for target, type_ in zip(targets, signature.results, strict=True):
        found = Tensor(target.dtype, target.shape, None)
        if not fits(found, type_):
            yield f"register {target.register} is made as {word(found)}, expected {type_}"


def host_op(state: State, instruction: HostOp) -> Problems:
    target = instruction.target
    host = state.executable.devices[HOST]
    if state.executable.kernels[instruction.kernel].kind != host.kind:
        yield f"an operator on the host has no kernel for {host.kind}"
    signature = state.signatures[instruction.kernel]
    yield from arguments(state, instruction.args, signature)
    if not isinstance(target, Target):
        state.held[target] = Dims(None)
        return
    if target.storage is not None:
        yield "an operator on the host has memory of its own, not a storage"
        return
    yield from _results((target,), signature)
    yield from _make(state, target, HOST)


def copy(state: State, instruction: Copy) -> Problems:
    source, target = state.held[instruction.source], instruction.target
    if isinstance(source, Anything):
        state.doubts += 1
        source = Tensor(target.dtype, target.shape, None)
    if not isinstance(source, Tensor):
        yield state.wrong(instruction.source, "a tensor")
        return
    if source.dtype != target.dtype or not agree(source.shape, target.shape):
        yield state.wrong(instruction.source, word(Tensor(target.dtype, target.shape, None)))
    yield from _make(state, target, instruction.device)


def alloc_storage(state: State, instruction: AllocStorage | TakeStorage) -> Problems:
    if isinstance(instruction, TakeStorage):
        yield from _donated(state, instruction)
    size = instruction.size
    yield from state.unknown((size,))
    if isinstance(size, Unknown) or (isinstance(size, int) and size < 0):
        shown = "unknown" if isinstance(size, Unknown) else size
        yield f"found a storage of {shown} bytes, expected 0 or more"
    state.held[instruction.target] = Storage(instruction.device, size)


def _donated(state: State, instruction: TakeStorage) -> Problems:
    source, params = instruction.source, state.function.params
    if source >= len(params) or not params[source].donated:
        yield f"register {source} is no donated parameter"
    if not isinstance(state.held[source], Tensor):
        yield state.wrong(source, "a tensor")


def _make(state: State, target: Target, device: int) -> Problems:
    """Keep the tensor that an instruction makes, in its storage or in memory of its own."""
    yield from state.unknown(target.shape)
    if any(isinstance(d, int) and d < 0 for d in target.shape or ()):
        yield f"register {target.register} is made with a negative dim"
    if target.storage is not None:
        storage = state.held[target.storage]
        if not isinstance(storage, Storage):
            yield state.wrong(target.storage, "a storage")
            return
        if storage.device != device:
            yield f"register {target.register} lies in a storage of another device"
        yield from _bounds(state, target, storage)
    state.held[target.register] = Tensor(target.dtype, target.shape, device)


def _bounds(state: State, target: Target, storage: Storage) -> Problems:
    """Yield what is certainly wrong with a tensor's place; a run checks what it alone knows."""
    itemsize = target.dtype.itemsize
    if target.offset < 0 or target.offset % itemsize:
        place = f"register {target.register} lies at {target.offset}"
        yield f"{place}, expected a multiple of {itemsize}"
    if target.shape is None or not target.is_sized:
        return  # it gets memory of its own when its size is known
    end = add(multiply(product(target.shape), itemsize), target.offset)
    if isinstance(end, int) and isinstance(storage.size, int) and end > storage.size:
        yield f"register {target.register} ends at {end} of a storage of {storage.size} bytes"
    elif not is_at_most(end, storage.size, state.limits):
        state.doubts += 1
