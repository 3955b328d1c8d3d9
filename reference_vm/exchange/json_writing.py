"""Functions to JSON: see `json_tree`.

The bindings of a block are one flat list, those of dataflow blocks included; the key ``dataflow``,
which readers may ignore, says which of them stand in one. Every binding has ``args``, the names
that its expression itself reads, whatever its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from reference_vm.exchange.json_types import shape_to_json, type_to_json
from reference_vm.exchange.json_values import attrs_to_json, elements_to_json
from reference_vm.ir import nodes
from reference_vm.ir.trampoline import Steps, run
from reference_vm.text.lexer import unquote
from reference_vm.text.names import names_in


def function_to_json(function: nodes.Function) -> dict[str, Any]:
    """Return the object of a function of the module."""
    names = {var: unquote(name[1:]) for var, name in names_in(function).items()}
    writer = _Writer(names)
    params = [writer.param(param) for param in function.params]
    for index in function.donated:
        params[index]["donate"] = True
    tree: dict[str, Any] = {
        "name": function.name,
        "params": params,
        "returns": type_to_json(function.result),
        "body": run(writer.block(function.body)),
    }
    if function.bounds:
        tree["bounds"] = [
            {"symbol": bound.symbol, "lower": bound.lower, "upper": bound.upper}
            for bound in function.bounds
        ]
    if function.attrs:
        tree["attrs"] = attrs_to_json(function.attrs)
    return tree


@final
@dataclass(frozen=True, slots=True)
class _Writer:
    names: dict[nodes.Var, str]

    def param(self, var: nodes.Var) -> dict[str, Any]:
        return {"name": self.names[var], "type": self._type(var)}

    def block(self, block: nodes.Block) -> Steps[dict[str, Any]]:
        bindings: list[dict[str, Any]] = []
        dataflow: list[dict[str, Any]] = []
        for statement in block.statements:
            inner = statement.bindings if isinstance(statement, nodes.Dataflow) else (statement,)
            if isinstance(statement, nodes.Dataflow):
                outputs = [self.names[var] for var in statement.outputs]
                dataflow.append({"first": len(bindings), "count": len(inner), "outputs": outputs})
            for binding in inner:
                written: dict[str, Any] = yield self._binding(binding)
                bindings.append(written)
        tree: dict[str, Any] = {"bindings": bindings, "result": self.names[block.result]}
        return tree | {"dataflow": dataflow} if dataflow else tree

    def _binding(self, binding: nodes.Binding) -> Steps[dict[str, Any]]:
        value: dict[str, Any] = yield self._expr(binding.value)
        request = binding.request
        return {
            "name": self.names[binding.var],
            **value,
            "device": None if request is None else request.role,
            "type": self._type(binding.var),
        }

    def _type(self, var: nodes.Var) -> dict[str, Any] | None:
        return None if var.type is None else type_to_json(var.type)

    def _expr(self, value: nodes.Expr) -> Steps[dict[str, Any]]:
        match value:
            case nodes.If():
                then: dict[str, Any] = yield self.block(value.then)
                orelse: dict[str, Any] = yield self.block(value.orelse)
                args = self._args((value.condition,))
                return {"kind": "if", "args": args, "then": then, "else": orelse}
            case nodes.Match():
                arms: list[dict[str, Any]] = []
                for arm in value.arms:
                    pattern: dict[str, Any] = yield self._pattern(arm.pattern)
                    body: dict[str, Any] = yield self.block(arm.body)
                    arms.append({"pattern": pattern, "body": body})
                return {"kind": "match", "args": self._args((value.scrutinee,)), "arms": arms}
            case nodes.Closure():
                inner: dict[str, Any] = yield self.block(value.body)
                return {
                    "kind": "closure",
                    "args": [],
                    "params": [self.param(param) for param in value.params],
                    "returns": type_to_json(value.result),
                    "body": inner,
                }
            case _:
                return self._flat(value)

    def _flat(self, value: nodes.Expr) -> dict[str, Any]:
        """Return the keys of an expression without blocks."""
        match value:
            case nodes.Call(op=op, args=args, attrs=attrs):
                written = attrs_to_json(attrs)
                return {"kind": "call", "op": op, "args": self._args(args), "attrs": written}
            case nodes.Invoke():
                return self._invoke(value)
            case nodes.Construct(constructor=name, args=items):
                return {"kind": "construct", "constructor": name, "args": self._args(items)}
            case nodes.Alias(var=var):
                return {"kind": "alias", "args": self._args((var,))}
            case nodes.FunctionValue(ref=ref):
                return {"kind": "function", "function": ref.function, "args": []}
            case nodes.MakeTuple(items=items):
                return {"kind": "tuple", "args": self._args(items)}
            case nodes.Project(tuple=var, index=index):
                return {"kind": "project", "args": self._args((var,)), "index": index}
            case nodes.ShapeLiteral(dims=dims):
                return {"kind": "shape", "args": [], "shape": shape_to_json(dims)}
            case _:
                return self._data(value)

    def _invoke(self, value: nodes.Invoke) -> dict[str, Any]:
        attrs = attrs_to_json(value.attrs)
        if isinstance(value.callee, nodes.Var):
            args = self._args((value.callee, *value.args))
            return {"kind": "apply", "args": args, "attrs": attrs}
        args = self._args(value.args)
        return {"kind": "invoke", "function": value.callee.function, "args": args, "attrs": attrs}

    def _data(self, value: nodes.Expr) -> dict[str, Any]:
        assert isinstance(value, nodes.Constant | nodes.Weight)
        tree = {"args": [], "dtype": value.dtype.name, "shape": list(value.shape)}
        if isinstance(value, nodes.Weight):
            return {"kind": "weight", **tree, "file": value.file, "key": value.key}
        return {"kind": "constant", **tree, **elements_to_json(value)}

    def _args(self, operands: Sequence[nodes.Operand]) -> list[str | dict[str, str] | None]:
        return [self._operand(operand) for operand in operands]

    def _operand(self, operand: nodes.Operand) -> str | dict[str, str] | None:
        if isinstance(operand, nodes.Var):
            return self.names[operand]
        return {"function": operand.function} if operand is not None else None

    def _pattern(self, pattern: nodes.Pattern) -> Steps[dict[str, Any]]:
        match pattern:
            case nodes.Wildcard():
                return {"kind": "any"}
            case nodes.BindPattern(var=var):
                return {"kind": "bind", "name": self.names[var]}
            case nodes.ConstructorPattern() | nodes.TuplePattern():
                items: list[dict[str, Any]] = []
                for item in pattern.items:
                    written: dict[str, Any] = yield self._pattern(item)
                    items.append(written)
        if isinstance(pattern, nodes.TuplePattern):
            return {"kind": "tuple", "items": items}
        return {"kind": "constructor", "constructor": pattern.constructor, "items": items}
