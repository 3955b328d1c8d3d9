"""The types of a graph's inputs: ``TypeProto`` to ours, and back.

Dims become numbers or symbols: ``dim_param`` texts are free in ONNX, so each becomes a name that
our grammar takes (``past_length + 1`` is ``past_length_1``), one and the same wherever the text
stands; a dim of which nothing is said gets a symbol of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, final

from onnx import TensorShapeProto, TypeProto

from reference_vm.exchange.element_types import (
    element_type_name,
    from_element_type,
    to_element_type,
)
from reference_vm.exchange.refusals import invalid, unsupported_type
from reference_vm.types import DTYPES, Dim, Poly, TensorType
from reference_vm.types.dim import FUNCTIONS, symbol

_WORDS: Final = (
    "module vdevice scope type fn bounds in attrs donate return yield dataflow output none if else"
    " match const splat hex from shape true false inf nan"
)
_RESERVED: Final = frozenset((*DTYPES, *FUNCTIONS, *_WORDS.split()))
"""What the grammar reserves, and what therefore no symbol is called."""


@final
@dataclass(slots=True)
class Symbols:
    """Gives each ``dim_param`` of a model a symbol, and makes fresh ones."""

    known: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def named(self, text: str) -> Poly:
        """Return the symbol for a ``dim_param``; the same text gives the same symbol."""
        if text not in self.known:
            self.known[text] = self._free(_sanitized(text))
        return symbol(self.known[text])

    def fresh(self) -> Poly:
        """Return a symbol that stands for nothing else."""
        return symbol(self._free("d0"))

    def _free(self, wanted: str) -> str:
        name, count = wanted, 0
        stem = wanted.rstrip("0123456789") or "d"
        while name in self.taken or name in _RESERVED:
            name, count = f"{stem}{count}", count + 1
        self.taken.add(name)
        return name


def _sanitized(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    if not name:
        return "d"
    return name if name[0].isalpha() else f"d_{name}"


def to_tensor_type(type_: TypeProto, where: str, symbols: Symbols) -> TensorType:
    """Return the tensor type of an input.

    Raises:
        CompileError: ``unsupported-type`` for sequences, maps, optionals, sparse tensors and
            element types without a dtype of ours; ``invalid-model`` for a negative dim.
    """
    kind = type_.WhichOneof("value")
    if kind != "tensor_type":
        raise unsupported_type(where, (kind or "no type").replace("_", " "))
    dtype = from_element_type(type_.tensor_type.elem_type)
    if dtype is None:
        raise unsupported_type(where, element_type_name(type_.tensor_type.elem_type))
    if not type_.tensor_type.HasField("shape"):
        return TensorType(dtype, None)
    dims = (_dim(d, where, symbols) for d in type_.tensor_type.shape.dim)
    return TensorType(dtype, tuple(dims))


def _dim(dim: TensorShapeProto.Dimension, where: str, symbols: Symbols) -> Dim:
    match dim.WhichOneof("value"):
        case "dim_value":
            if dim.dim_value < 0:
                raise invalid(where, f"has a dim of {dim.dim_value}, expected 0 or more")
            return int(dim.dim_value)
        case "dim_param" if dim.dim_param:
            return symbols.named(dim.dim_param)
        case _:
            return symbols.fresh()


def to_type_proto(type_: TensorType) -> TypeProto:
    """Return ONNX's type: a dim that is a symbol alone keeps its name, others are left open."""
    proto = TypeProto()
    proto.tensor_type.elem_type = to_element_type(type_.dtype)
    if type_.shape is None:
        return proto
    proto.tensor_type.shape.SetInParent()
    for dim in type_.shape:
        entry = proto.tensor_type.shape.dim.add()
        if isinstance(dim, int):
            entry.dim_value = dim
        elif isinstance(dim, Poly):
            entry.dim_param = str(dim)
    return proto
