"""Giving a function's symbols their values, from the tensors that it is called with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """An argument does not fit its parameter."""

    def __init__(self, parameter: Parameter, code: str, message: str) -> None:
        super().__init__(code, f"argument %{parameter.name}: {message}")
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
        (p, shape, dims)
        for p, value in zip(code.params, values, strict=True)
        for shape, dims in _shapes(p.type, value)
    ]
    for parameter, shape, dims in leaves:
        for axis, (dim, size) in enumerate(zip(shape, dims, strict=True)):
            name = lone_symbol(dim)
            if name is not None and bound.setdefault(name, size) != size:
                raise _conflict(parameter, axis, name, bound[name], size)
    for symbol in code.hidden_symbols:
        _find(symbol, code, values, data_types, bound)
    symbols = tuple(bound.get(s, 0) for s in code.symbols)
    _check_bounds(code, bound)
    for parameter, shape, dims in leaves:
        _check_expressions(code, parameter, shape, dims, symbols)
    return symbols


def _shapes(type_: Type, value: Any) -> Iterator[tuple[Shape, tuple[int, ...]]]:
    if isinstance(type_, TensorType):
        if type_.shape is not None and isinstance(value, Tensor):
            yield type_.shape, value.shape
    elif isinstance(type_, ShapeType):
        if type_.dims is not None:
            yield type_.dims, value
    elif isinstance(type_, TupleType):
        for item, part in zip(type_.items, value, strict=True):
            yield from _shapes(item, part)


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


def _check_expressions(
    code: FunctionCode, parameter: Parameter, shape: Shape, dims: tuple[int, ...], symbols: Symbols
) -> None:
    slots = {s: i for i, s in enumerate(code.symbols)}
    for axis, (dim, size) in enumerate(zip(shape, dims, strict=True)):
        if isinstance(dim, int | Unknown) or lone_symbol(dim) is not None:
            continue
        try:
            expected = compile_dim(dim, slots)(symbols)
        except DataError as error:
            raise BindError(parameter, error.code, f"dim {axis}: {error.message}") from error
        if expected != size:
            raise BindError(
                parameter,
                "argument-shape",
                f"dim {axis} is {size}, expected {dim} = {expected}",
            )


def _conflict(parameter: Parameter, axis: int, symbol: str, first: int, size: int) -> BindError:
    return BindError(
        parameter,
        "argument-shape",
        f"dim {axis} is {size}, but {symbol} was {first} in an earlier argument or dim",
    )
