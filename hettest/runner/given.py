"""What a test gives to ``het.check``: a program, devices for its roles, and arguments.

Whatever is wrong with them is said here, in the words of who wrote them, before anything is
compiled or run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar, Union

from hettest.devicemap import Binding, canonical, parse_binding
from hettest.errors import HettestError, UsageError
from hettest.language import (
    DiagnosticError,
    Module,
    TensorType,
    TupleType,
    Type,
    from_onnx,
    nodes,
    numpy_dtype,
)
from hettest.runner.program import ModuleProgram, TextProgram

if TYPE_CHECKING:
    from hettest.backend.protocol import Value

P = ParamSpec("P")
R = TypeVar("R")

Source: TypeAlias = Union[str, bytes, Path, Module]
"""A program: its text, a module, or an ONNX model by path or as bytes."""

Where: TypeAlias = Union[str, Sequence[Any], Mapping[str, Any]]
"""Devices for the roles: in the order of declaration, or by role, also as ``accel=sim:0``."""

Args: TypeAlias = Union[Sequence["Value"], Mapping[str, "Value"]]
"""Arguments in the order of the parameters, or by their names."""


class HetFailure(AssertionError):
    """A check did not hold; the message says found, expected, place, and what was executed."""

    def __init__(self, message: str, summary: str | None = None) -> None:
        super().__init__(message)
        self.summary = summary or next(iter(message.splitlines()), "")
        """What is wrong, in one line, for lists of failures."""


def headline(error: Exception, code: str | None = None) -> str:
    """Return the first line of a refusal, with its code: ``error[dtype-mismatch]: add: …``."""
    first = next(iter(str(error).splitlines()), type(error).__name__)
    return first if code is None or code in first else f"error[{code}]: {first}"


def briefly(method: Callable[P, R]) -> Callable[P, R]:
    """Let the kit's own errors that come out of ``method`` show its caller, and nothing inside."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return method(*args, **kwargs)
        except (HettestError, HetFailure) as error:
            error.__traceback__ = None
            raise error

    return call


def program_of(source: Source) -> TextProgram | ModuleProgram:
    """Return the program that a test gave.

    Raises:
        HetFailure: The program is malformed; with its diagnostics.
        UsageError: There is no such file, or it is no program.
    """
    if isinstance(source, Module):
        return ModuleProgram("program", source)
    if isinstance(source, bytes):
        return ModuleProgram("model", _imported("model", source), source)
    if isinstance(source, Path) or (isinstance(source, str) and source.endswith(".onnx")):
        path = Path(source)
        if not path.is_file():
            raise UsageError(f"found no file {path}")
        return ModuleProgram(path.name, _imported(path.name, path), path.read_bytes())
    if not isinstance(source, str):
        raise UsageError(
            f"found a {type(source).__name__} for a program, expected its text, a module, or an "
            "ONNX model by path or as bytes"
        )
    program = TextProgram("program", source)
    try:
        assert program.module is not None
    except DiagnosticError as error:
        message = f"program: the program is malformed:\n{error}"
        raise HetFailure(message, headline(error)) from None
    return program


def _imported(name: str, model: Path | bytes) -> Module:
    try:
        return from_onnx(model)
    except DiagnosticError as error:
        raise HetFailure(f"{name}: the model is refused:\n{error}", headline(error)) from None


def roles_of(program: TextProgram | ModuleProgram) -> tuple[str, ...]:
    """Return the roles that the program leaves to the device map, in order."""
    return tuple(v.role for v in program.module.vdevices if v.device is None)


def binding_of(roles: Sequence[str], on: Where) -> Binding:
    """Return which device each role is; a model without roles gets ``host`` and ``accel``.

    Raises:
        UsageError: There are more devices than roles, or fewer, or one is no device.
    """
    if isinstance(on, str) and "=" in on:
        return parse_binding(on)
    if isinstance(on, Mapping):
        return {role: canonical(str(device)) for role, device in on.items()}
    named = on.split(",") if isinstance(on, str) else [str(device) for device in on]
    devices = [canonical(name) for name in named]
    names = list(roles) or ["host", "accel"][: len(devices)]
    listed = ", ".join(f"@{name}" for name in names)
    if len(devices) < len(names):
        raise UsageError(f"found {len(devices)} devices for the roles {listed}; name one for each")
    if len(devices) > len(names):
        raise UsageError(
            f"found {len(devices)} devices, {', '.join(devices)}, for the roles {listed} alone"
        )
    return dict(zip(names, devices, strict=True))


def arguments_of(module: Module, entry: str, given: Args) -> tuple[Value, ...]:
    """Return the arguments in the order of the entry's parameters.

    Raises:
        UsageError: There is no such function, or the arguments do not fit its parameters; names
            the parameter.
    """
    function = module.by_name.get(entry)
    if function is None:
        listed = ", ".join(f"@{name}" for name in module.by_name)
        raise UsageError(f"the program has no function @{entry}; it has {listed}")
    args = _in_order(function, given)
    for param, arg in zip(function.params, args, strict=True):
        wrong = _misfit(arg, param.type)
        if wrong is not None:
            raise UsageError(f"argument %{param.name} of @{entry}: {wrong}")
    return args


def _in_order(function: nodes.Function, given: Args) -> tuple[Value, ...]:
    names = [param.name for param in function.params]
    listed = ", ".join(f"%{name}" for name in names) or "none"
    if isinstance(given, Mapping):
        by_name = {str(name).removeprefix("%"): value for name, value in given.items()}
        if by_name.keys() != set(names):
            found = ", ".join(f"%{name}" for name in by_name) or "none"
            raise UsageError(f"found arguments {found}; @{function.name} takes {listed}")
        return tuple(by_name[name] for name in names)
    if not isinstance(given, list | tuple):
        raise UsageError(
            f"found a {type(given).__name__} for the arguments, expected a tuple with one for each "
            f"parameter, or a mapping by name; @{function.name} takes {listed}"
        )
    if len(given) != len(names):
        raise UsageError(f"found {len(given)} arguments; @{function.name} takes {listed}")
    return tuple(given)


def _misfit(value: Any, type_: Type | None) -> str | None:
    """Return how a value differs from a parameter's type: kind, dtype, rank and static sizes."""
    if isinstance(type_, TupleType):
        if not isinstance(value, tuple) or len(value) != len(type_.items):
            return f"found {_form(value)}, expected a tuple {type_}"
        found = (_misfit(v, t) for v, t in zip(value, type_.items, strict=True))
        return next(filter(None, found), None)
    if not isinstance(type_, TensorType):
        return None
    import numpy as np

    if not isinstance(value, np.ndarray | np.generic):
        return f"found {_form(value)}, expected an array {type_}"
    if value.dtype != numpy_dtype(type_.dtype.name) or not _fits(value.shape, type_):
        return f"found {_form(value)}, expected {type_}"
    return None


def _fits(shape: Sequence[int], type_: TensorType) -> bool:
    if type_.shape is None:
        return True
    if len(shape) != len(type_.shape):
        return False
    return all(
        size == dim for size, dim in zip(shape, type_.shape, strict=True) if isinstance(dim, int)
    )


def _form(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"a {type(value).__name__}"
