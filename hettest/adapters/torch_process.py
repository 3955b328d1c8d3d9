"""Runs programs with PyTorch; lives in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hettest.adapters.child import Refused, engine_errors
from hettest.adapters.following import Run
from hettest.adapters.reading import HOST, Read, Task
from hettest.adapters.torch_operators import host_value, spelled
from hettest.adapters.torch_operators_nn import OPERATORS
from hettest.adapters.torch_whole import Whole
from hettest.backend.protocol import Observation
from hettest.language import Trait, numpy_dtype, operators

if TYPE_CHECKING:
    from hettest.backend.protocol import Array, Value

MOST_COMPILED = 64
"""Programs that are kept compiled; beyond, the oldest is compiled again when needed."""


def loaded() -> Any:
    """Return PyTorch, with one thread and with its own random choices fixed."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    return torch


@final
class Eager:
    """PyTorch, operator by operator."""

    def __init__(self) -> None:
        self.torch = loaded()
        self.read = Read()

    def cuda_devices(self) -> int:
        """Return how many CUDA devices PyTorch can use."""
        return cuda_devices(self.torch)

    def compile(self, task: Task) -> None:
        """Find out where arguments go."""
        self.read(task)

    def run(self, task: Task, args: Sequence[Value]) -> Observation:
        """Run the task's function."""
        known, homes = self.read(task)
        with self.torch.no_grad():
            return Run(TorchArrays(self.torch, known.default), known, homes).run(args)


class _Whole:
    """PyTorch, whole functions at a time, on one device."""

    mode: str

    def __init__(self) -> None:
        self.torch = loaded()
        self.made: dict[Task, Whole] = {}

    def cuda_devices(self) -> int:
        """Return how many CUDA devices PyTorch can use."""
        return cuda_devices(self.torch)

    def compile(self, task: Task) -> None:
        """Write the function as one of PyTorch's; it is compiled when its sizes are known."""
        if len(self.made) >= MOST_COMPILED:
            del self.made[next(iter(self.made))]
            self.torch.compiler.reset()
        arrays = TorchArrays(self.torch, HOST)
        self.made[task] = Whole(self.torch, task, arrays.tensors, self.mode)

    def run(self, task: Task, args: Sequence[Value]) -> Observation:
        """Run the task's function."""
        if task not in self.made:
            self.compile(task)
        arrays = TorchArrays(self.torch, HOST)
        given = tuple(arrays.tensors(arg) for arg in args)
        with self.torch.no_grad():
            return Observation(results=arrays.values(self.made[task].run(given)))


@final
class Compiled(_Whole):
    """PyTorch through ``torch.compile``."""

    mode = "compile"


@final
class Exported(_Whole):
    """PyTorch through ``torch.export``."""

    mode = "export"


def cuda_devices(torch: Any) -> int:
    return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0


@final
@dataclass(frozen=True)
class Placed:
    """A tensor on a device; on ``meta``, which holds no data, with the data beside it."""

    place: Any
    data: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.place.shape)

    @property
    def nbytes(self) -> int:
        return int(self.place.nbytes)


@final
@dataclass(frozen=True)
class TorchArrays:
    """PyTorch, as `following.Arrays`."""

    torch: Any
    default: str

    def put(self, array: Any, device: str | None) -> Placed:
        """Return an array on a device; what is there already stays the same tensor."""
        name = device or self.default
        if not isinstance(array, Placed):
            array = self._given(array)
        with engine_errors("run"):
            if name.startswith("meta"):
                return Placed(array.place.to("meta"), array.data)
            moved = array.data.to(_torch_name(name))
            return Placed(moved, moved)

    def _given(self, array: Array) -> Placed:
        """Return memory of the caller as a tensor on the host, in memory of its own."""
        if array.dtype == numpy_dtype("bf16"):
            bits = self.torch.from_numpy(np.array(array).view(np.int16))
            tensor = bits.view(self.torch.bfloat16)
        else:
            tensor = self.torch.from_numpy(np.array(array))
        return Placed(tensor, tensor)

    def fresh(self, array: Placed) -> Placed:
        with engine_errors("run"):
            place = array.place.clone()
            return Placed(place, array.data.clone() if place.is_meta else place)

    def where(self, array: Placed) -> str:
        device = array.place.device
        return f"{device.type}:{device.index or 0}"

    def moved(self, before: Placed, after: Placed) -> bool:
        if self.where(before) != self.where(after):
            return True
        return bool(before.data.data_ptr() != after.data.data_ptr())

    def apply(self, op: str, operands: Sequence[Any], attrs: Mapping[str, Any], device: str) -> Any:
        """Return what the operator makes on its operands' device, and on ``meta`` the data too.

        Raises:
            Refused: PyTorch raised an error, or foretold another shape or dtype than it made.
        """
        places = [o.place if isinstance(o, Placed) else o for o in operands]
        on_meta = any(getattr(place, "is_meta", False) for place in places)
        if on_meta and operators()[op].has(Trait.DATA_DEPENDENT):
            made = [tensor.to("meta") for tensor in self._made(op, _data(operands), attrs, HOST)]
        else:
            made = self._made(op, places, attrs, device)
        if not any(place.is_meta for place in made):
            found = [Placed(place, place) for place in made]
        else:
            data = self._made(op, _data(operands), attrs, HOST)
            found = [_with_data(op, *pair) for pair in zip(made, data, strict=True)]
        return found[0] if len(found) == 1 else tuple(found)

    def _made(self, op: str, operands: Sequence[Any], attrs: Mapping[str, Any], device: str) -> Any:
        given = [host_value(o) if isinstance(o, np.ndarray) else o for o in operands]
        with engine_errors("run"), self.torch.device(_torch_name(device)):
            made = OPERATORS[op](self.torch, *given, **spelled(attrs))
        return made if isinstance(made, tuple) else (made,)

    def data(self, array: Placed) -> Array:
        with engine_errors("run"):
            return self._numpy(array.data)

    def _numpy(self, tensor: Any) -> Array:
        host = tensor.detach().cpu()
        if host.dtype == self.torch.bfloat16:
            raw: Array = host.contiguous().view(self.torch.int16).numpy()
            return raw.view(numpy_dtype("bf16"))
        found: Array = host.resolve_conj().numpy().copy()
        return found

    def tensors(self, value: Value) -> Any:
        """Return an argument as tensors on the default device, nested as it is."""
        if isinstance(value, tuple):
            return tuple(self.tensors(item) for item in value)
        return self.put(value, None).data

    def values(self, made: Any) -> Value:
        """Return tensors as NumPy's arrays, nested as they are."""
        if isinstance(made, tuple | list):
            return tuple(self.values(item) for item in made)
        return self._numpy(made)


def _data(operands: Sequence[Any]) -> list[Any]:
    return [o.data if isinstance(o, Placed) else o for o in operands]


def _with_data(op: str, place: Any, data: Any) -> Placed:
    if place.is_meta and (place.shape != data.shape or place.dtype != data.dtype):
        found = f"{place.dtype}{list(place.shape)}, the data {data.dtype}{list(data.shape)}"
        raise Refused("run", ValueError(f"{op}: on meta the result is {found}"))
    return Placed(place, data)


def _torch_name(device: str) -> str:
    """Return PyTorch's name of a device; its processor and its meta device have no number."""
    kind, _, index = device.partition(":")
    return f"cuda:{index}" if kind == "cuda" else kind
