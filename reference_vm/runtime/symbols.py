"""Giving a function's symbols their values, from the tensors that it is called with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

from reference_vm.bytecode.executable import DataTypeSlot, FunctionCode, Parameter
from reference_vm.bytecode.symbols import lone_symbol, symbols_in
from reference_vm.devices.api import Tensor
from reference_vm.diagnostics import DataError
from reference_vm.runtime.holds import Data
from reference_vm.runtime.sizes import Symbols, compile_dim
from reference_vm.types import AdtType, Shape, ShapeType, TensorType, TupleType, Type, Unknown


@final
class BindError(DataError):
    """An argument does not fit its parameter; ``path`` is where in it: ``[1][0]``."""

    def __init__(self, parameter: Parameter, code: str, message: str, path: str = "") -> None:
        item = f", item {path}" if path else ""
        super().__init__(code, f"argument %{parameter.name}{item}: {message}")
        self.parameter = parameter


def bind_symbols(
    code: FunctionCode, values: list[Any], data_types: Sequence[DataTypeSlot]
) -> Symbols:
    """Return the symbols' values, in the order of ``code.symbols``.

    A symbol that only a ``match_cast`` binds is 0 until then. One that stands in the argument of a
    data type only is what the first tensor found there has, and 0 if there is none.

    Raises:
        BindError: A dim is not what the parameters say, or a symbol is out of its bounds.
    """
    if not code.symbols:
        return ()
    bound: dict[str, int] = {}
    leaves = [
        _Sized(p, path, shape, dims)
        for p, value in zip(code.params, values, strict=True)
        for path, shape, dims in _shapes(p.type, value, "")
    ]
    for leaf in leaves:
        for axis, (dim, size) in enumerate(zip(leaf.shape, leaf.dims, strict=True)):
            name = lone_symbol(dim)
            if name is not None and bound.setdefault(name, size) != size:
                message = f"{name} was {bound[name]} in an earlier argument or dim"
                raise leaf.wrong(axis, f" is {size}, but {message}")
    for symbol in code.hidden_symbols:
        _find(symbol, code, values, data_types, bound)
    symbols = tuple(bound.get(s, 0) for s in code.symbols)
    _check_bounds(code, bound)
    for leaf in leaves:
        _check_expressions(code, leaf, symbols)
    return symbols


@final
@dataclass(frozen=True, slots=True)
class _Sized:
    """A tensor or a shape value in an argument, and the shape that its parameter says."""

    parameter: Parameter
    path: str
    shape: Shape
    dims: tuple[int, ...]

    def wrong(self, axis: int, message: str, code: str = "argument-shape") -> BindError:
        return BindError(self.parameter, code, f"dim {axis}{message}", self.path)


def _shapes(type_: Type, value: Any, path: str) -> Iterator[tuple[str, Shape, tuple[int, ...]]]:
    if isinstance(type_, TensorType):
        if type_.shape is not None and isinstance(value, Tensor):
            yield path, type_.shape, value.shape
    elif isinstance(type_, ShapeType):
        if type_.dims is not None:
            yield path, type_.dims, value
    elif isinstance(type_, TupleType):
        for index, (item, part) in enumerate(zip(type_.items, value, strict=True)):
            yield from _shapes(item, part, f"{path}[{index}]")


def _find(
    symbol: str,
    code: FunctionCode,
    values: list[Any],
    data_types: Sequence[DataTypeSlot],
    bound: dict[str, int],
) -> None:
    """Bind a symbol to what the first tensor in a value of a data type has for it."""
    stack = list(zip((p.type for p in code.params), values, strict=True))
    while stack:
        type_, value = stack.pop()
        if isinstance(value, Tensor) and isinstance(type_, TensorType):
            for dim, size in zip(type_.shape or (), value.shape, strict=False):
                if lone_symbol(dim) == symbol:
                    bound[symbol] = size
                    return
        elif isinstance(value, Data) and isinstance(type_, AdtType):
            fields = data_types[value.data_type].fields(value.tag, type_.args)
            stack.extend(reversed(list(zip(fields, value.fields, strict=True))))
        elif isinstance(type_, TupleType):
            stack.extend(reversed(list(zip(type_.items, value, strict=True))))


def _check_bounds(code: FunctionCode, bound: dict[str, int]) -> None:
    for symbol, limits in code.bounds.items():
        size = bound.get(symbol)
        if size is None:
            continue
        if size < limits.lower or (limits.upper is not None and size > limits.upper):
            upper = "" if limits.upper is None else str(limits.upper)
            raise BindError(
                _first_with(code, symbol),
                "symbol-out-of-bounds",
                f"{symbol} is {size}, expected {limits.lower}..{upper}",
            )


def _first_with(code: FunctionCode, symbol: str) -> Parameter:
    for parameter in code.params:
        if symbol in symbols_in(parameter.type):
            return parameter
    return code.params[0]


def _check_expressions(code: FunctionCode, leaf: _Sized, symbols: Symbols) -> None:
    slots = {s: i for i, s in enumerate(code.symbols)}
    for axis, (dim, size) in enumerate(zip(leaf.shape, leaf.dims, strict=True)):
        if isinstance(dim, int | Unknown) or lone_symbol(dim) is not None:
            continue
        try:
            expected = compile_dim(dim, slots)(symbols)
        except DataError as error:
            raise leaf.wrong(axis, f": {error.message}", error.code) from error
        if expected != size:
            raise leaf.wrong(axis, f" is {size}, expected {dim} = {expected}")
