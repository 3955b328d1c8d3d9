"""A program as a Relax module.

What the program asks for is said explicitly, what it leaves open is Relax's to decide:

=================================  =============================================================
``%a: f32[4] @accel`` (parameter)  a tensor type on that device; so too for a parameter whose
                                   device follows from the requested operators that read it
``%t = add(%b, %c) @accel``        each operand that is known to be elsewhere through one
                                   ``to_vdevice``; one that Relax is to place, through one
                                   ``hint_on_device``
``%s: f32[4] @accel = add(…)``     ``hint_on_device`` of the result
``to_vdevice``, ``device_copy``    ``to_vdevice``
``hint_on_device``                 ``hint_on_device``
``-> f32[4] @accel``               the result through ``to_vdevice`` where it is known to be
                                   elsewhere, else the function's declared result type
=================================  =============================================================

Constants stay as they are, since Relax has no word for where they live. Only an operator that has
no other operands, such as ``full``, gets them through ``to_vdevice``: nothing else would take it
to its device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import numpy as np

from hettest.adapters.child import engine_errors
from hettest.adapters.reading import Homes, Leaf, Task, attributes, homes
from hettest.adapters.tvm_operators import OPERATORS
from hettest.language import (
    TensorType,
    Trait,
    TupleType,
    Type,
    lone_symbol,
    nodes,
    numpy_dtype,
    operators,
)

Entry: TypeAlias = Any
"""An expression of Relax; a tuple of entries; a NumPy array for a constant."""


@final
@dataclass(frozen=True)
class Translated:
    """A Relax module, and what is needed to read back what was made of it."""

    module: Any
    devices: tuple[str, ...]
    """Of the module's virtual devices, in their order; the default device first."""

    made: Mapping[str, tuple[str, str]]
    """By the name of a Relax variable: the operator, and the program's variable ``main/%s``."""

    names: Mapping[str, str]
    """By the name of a Relax variable: the program's variable that it holds."""


def translate(tvm: Any, task: Task) -> Translated:
    """Return the task's function as a Relax module with ``main`` as its only function.

    Raises:
        Refused: Relax refuses an operator or a type.
    """
    return _Translator(tvm, task, homes(task)).translate()


@final
@dataclass
class _Translator:
    tvm: Any
    task: Task
    homes: Homes
    values: dict[nodes.Var, Entry] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    """Where a Relax variable lives, if the program says it; by the variable's name."""

    moved: dict[tuple[str, str], Any] = field(default_factory=dict)
    """By a Relax variable's name and a device: the variable that holds its value there."""

    symbols: dict[str, Any] = field(default_factory=dict)
    made: dict[str, tuple[str, str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.relax: Any = self.tvm.relax
        self.builder: Any = self.relax.BlockBuilder()
        self.devices = tuple(dict.fromkeys((self.task.default, *self.task.devices)))
        llvm = self.tvm.target.Target("llvm")
        self.vdevices = {
            device: self.relax.VDevice(llvm, int(device.partition(":")[2]))
            for device in self.devices
        }

    def translate(self) -> Translated:
        function = self.task.function
        params = [self._parameter(param) for param in function.params]
        with self.builder.function("main", params):
            with self.builder.dataflow():
                for param, variable in zip(function.params, params, strict=True):
                    self.values[param] = self._fields(param, variable, param.type, ())
                for binding in function.body.bindings():
                    self.values[binding.var] = self._value(binding)
                result = self._deliver(self.values[function.body.result], function.result)
                output = self.builder.emit_output(self._expression(result))
            self.builder.emit_func_output(output)
        module = self.builder.get()
        module = self._with_result_type(module, function.result)
        if len(self.devices) > 1:
            module.update_global_info("vdevice", list(self.vdevices.values()))
        return Translated(module, self.devices, self.made, self.names)

    def _name(self, var: nodes.Var) -> str:
        return f"{self.task.entry}/%{var.name}"

    def _parameter(self, param: nodes.Var) -> Any:
        variable = self.relax.Var(param.name, self._type(param, param.type, ()))
        self.names[param.name] = self._name(param)
        return variable

    def _type(self, param: nodes.Var, type_: Type | None, path: tuple[int, ...]) -> Any:
        if isinstance(type_, TupleType):
            items = enumerate(type_.items)
            return self.relax.TupleType([self._type(param, t, (*path, i)) for i, t in items])
        assert isinstance(type_, TensorType)
        return self._tensor(type_, self.homes[param, path])

    def _tensor(self, type_: TensorType, device: str | None) -> Any:
        dtype = numpy_dtype(str(type_.dtype)).name
        shape = [self._dim(dim) for dim in type_.shape or ()]
        placed = self.vdevices[device] if device and len(self.devices) > 1 else None
        return self.relax.TensorType(shape, dtype, vdevice=placed)

    def _dim(self, dim: Any) -> Any:
        if isinstance(dim, int):
            return dim
        name = lone_symbol(dim)
        if name is None:
            raise NotImplementedError(f"a dim {dim}")
        if name not in self.symbols:
            self.symbols[name] = self.tvm.tirx.Var(name, "int64")
        return self.symbols[name]

    def _fields(self, param: nodes.Var, variable: Any, type_: Type | None, path: Any) -> Entry:
        if isinstance(type_, TupleType):
            return tuple(
                self._fields(
                    param,
                    self._emit(self.relax.TupleGetItem(variable, index), self._name(param)),
                    item,
                    (*path, index),
                )
                for index, item in enumerate(type_.items)
            )
        leaf: Leaf = (param, path)
        self._know(variable, self.homes[leaf])
        return variable

    def _emit(self, expression: Any, name: str, hint: str = "") -> Any:
        """Return a variable that holds an expression; it stands for the program's ``name``."""
        with engine_errors("compile"):
            variable = self.builder.emit(expression, name_hint=hint)
        self.names[variable.name] = name
        return variable

    def _know(self, variable: Any, device: str | None) -> None:
        if device is not None:
            self.known[variable.name] = device

    def _value(self, binding: nodes.Binding) -> Entry:
        match binding.value:
            case nodes.Call() as call:
                return self._pinned(binding, self._call(binding, call))
            case nodes.Alias(var=source):
                return self._pinned(binding, self.values[source])
            case nodes.MakeTuple(items=items):
                return tuple(self.values[item] for item in items)
            case nodes.Project(tuple=source, index=index):
                return self._pinned(binding, self.values[source][index])
            case nodes.Constant(dtype=dtype, shape=shape, data=data):
                return np.frombuffer(data, numpy_dtype(str(dtype))).reshape(shape)
            case nodes.ShapeLiteral(dims=dims):
                return self.relax.ShapeExpr([self._dim(dim) for dim in dims])
            case other:
                raise NotImplementedError(f"{type(other).__name__} is not claimed")

    def _pinned(self, binding: nodes.Binding, made: Entry) -> Entry:
        device = self.task.device(binding.var.type)
        if device is None and not isinstance(binding.value, nodes.Call):
            device = self.task.device(binding)
        return made if device is None else self._on(made, device)

    def _call(self, binding: nodes.Binding, call: nodes.Call) -> Entry:
        op, device = operators()[call.op], self.task.device(binding)
        if op.has(Trait.MOVES_DATA) or call.op == "hint_on_device":
            return self._moved(binding, call, device)
        operands = [self._operand(call, index, device) for index in range(len(call.args))]
        if device is not None and not self._has_tensors(operands):
            operands = [self._constant_on(operand, device) for operand in operands]
        with engine_errors("compile"):
            if call.op in OPERATORS:
                made = OPERATORS[call.op](self.relax.op, *operands, **attributes(call))
            else:
                made = getattr(self.relax.op, call.op)(*operands)
        name = self._name(binding.var)
        variable = self._emit(made, name, binding.var.name)
        self.made[variable.name] = (call.op, name)
        if device is not None:
            variable = self._requested(variable, device, operands)
        if isinstance(variable.ty, self.relax.TupleType):
            return self._split(variable, name, device)
        return variable

    def _requested(self, variable: Any, device: str, operands: list[Any]) -> Any:
        """Return the result of a requested operator; one without tensors to follow is hinted."""
        follows = self._has_tensors(operands) or device == self.devices[0]
        if not follows and isinstance(variable.ty, self.relax.TensorType):
            return self._on(variable, device)
        self._know(variable, device)
        return variable

    def _has_tensors(self, operands: list[Any]) -> bool:
        """Whether an operator has operands whose device decides where it runs."""
        return any(self.known.get(getattr(operand, "name", "")) for operand in operands)

    def _constant_on(self, operand: Any, device: str) -> Any:
        """Return a constant on ``device``; they are loaded to the first of the devices."""
        is_constant = isinstance(operand, self.tvm.ir.expr.Constant)
        if device == self.devices[0] or not is_constant:
            return operand
        moved = self.relax.op.to_vdevice(operand, self.vdevices[device])
        variable = self._emit(moved, "a constant")
        self._know(variable, device)
        return variable

    def _split(self, variable: Any, name: str, device: str | None) -> Entry:
        parts = []
        for index in range(len(variable.ty.fields)):
            parts.append(self._emit(self.relax.TupleGetItem(variable, index), name))
            self._know(parts[-1], device)
        return tuple(parts)

    def _operand(self, call: nodes.Call, index: int, device: str | None) -> Any:
        operand = call.args[index]
        assert isinstance(operand, nodes.Var)
        value = self.values[operand]
        if operators()[call.op].is_host_operand(index):
            if isinstance(value, np.ndarray):
                return value.tolist()
            is_tensor = isinstance(value.ty, self.relax.TensorType)
            if is_tensor and call.op != "tensor_to_shape":
                return self._emit(self.relax.op.tensor_to_shape(value), self._name(operand))
            return self._dims_of(value)
        value = self._expression(value)
        return value if device is None else self._on(value, device)

    def _dims_of(self, shape: Any) -> Any:
        """Return a shape value as its dims, where the type knows them."""
        values = getattr(shape.ty, "values", None)
        return shape if values is None else self.relax.ShapeExpr(values)

    def _expression(self, value: Entry) -> Any:
        if isinstance(value, np.ndarray):
            return self.relax.const(value, value.dtype.name)
        if isinstance(value, tuple):
            return self.relax.Tuple([self._expression(item) for item in value])
        return value

    def _on(self, value: Any, device: str) -> Any:
        """Return a variable on ``device`` with the value, brought there once."""
        if len(self.devices) == 1 or not isinstance(value, self.relax.Var):
            return value
        source = value.name
        if self.known.get(source) == device:
            return value
        if (source, device) not in self.moved:
            if source in self.known:
                expression = self.relax.op.to_vdevice(value, self.vdevices[device])
            else:
                expression = self._hint(value, device)
            variable = self._emit(expression, self.names[source])
            self._know(variable, device)
            self.moved[source, device] = variable
        return self.moved[source, device]

    def _hint(self, value: Any, device: str) -> Any:
        number = int(device.partition(":")[2])
        return self.relax.op.hint_on_device(value, self.tvm.cpu(number))

    def _moved(self, binding: nodes.Binding, call: nodes.Call, device: str | None) -> Any:
        (operand,) = call.args
        assert isinstance(operand, nodes.Var)
        assert device is not None
        value = self._expression(self.values[operand])
        if len(self.devices) == 1:
            return value
        if call.op == "hint_on_device":
            expression = self._hint(value, device)
        else:
            expression = self.relax.op.to_vdevice(value, self.vdevices[device])
        variable = self._emit(expression, self._name(binding.var), binding.var.name)
        self._know(variable, device)
        return variable

    def _deliver(self, value: Entry, type_: Type | None) -> Entry:
        if isinstance(value, tuple) and isinstance(type_, TupleType):
            return tuple(self._deliver(v, t) for v, t in zip(value, type_.items, strict=True))
        device = self.task.device(type_)
        value = self._expression(value)
        if device is None or getattr(value, "name", None) not in self.known:
            return value
        return self._on(value, device)

    def _with_result_type(self, module: Any, type_: Type) -> Any:
        """Return the module with its function's result declared where the program places it."""
        device = self.task.device(type_)
        if device is None or len(self.devices) == 1:
            return module
        main = module["main"]
        found = main.ret_ty
        placed = self.relax.TensorType(found.shape, found.dtype, vdevice=self.vdevices[device])
        declared = self.relax.Function(main.params, main.body, placed, main.is_pure, main.attrs)
        module["main"] = declared
        return module
