"""Modules to text: canonical, so that equal modules have one text.

Two spaces, one statement a line, declarations in module order, attributes sorted, every known
type. Names are quoted only when they must be; variables of one name become ``%x``, ``%x.1``,
``%x.2``. Floats are the shortest that round-trip in their dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir import nodes
from reference_vm.ir.trampoline import Steps, run
from reference_vm.text.lexer import identifier, quote
from reference_vm.text.names import Names, names_in
from reference_vm.text.value_printer import (
    parenthesized,
    print_attrs,
    print_constant,
    print_dims,
    print_type,
    role,
)
from reference_vm.types import NO_ATTRS, Attrs, Type, VirtualDevice, leaves
from reference_vm.types.device import GLOBAL_SCOPE


def print_module(module: nodes.Module, short: bool = False) -> str:
    """Return the text of ``module``.

    ``short`` leaves out the types of bindings that ``infer-types`` finds again: all but placed ones
    and those of ``match_cast`` and constructors.

    Raises:
        CompileError: It is no module.
    """
    if not isinstance(module, nodes.Module):
        raise CompileError(catalog.not_a_module(module))
    version = f"version {module.version} " if module.version != 1 else ""
    lines = [f"module {version}{{"]
    lines.extend(_vdevice_lines(module.vdevices))
    for adt in module.adts:
        lines.extend(_adt_lines(adt))
    for function in module.functions:
        lines.extend(_FunctionPrinter(short).lines_of(function, "  "))
    lines.append("}\n")
    return "\n".join(lines)


def print_function(function: nodes.Function, short: bool = False) -> str:
    """Return the text of one function, as it stands in a module but without indentation."""
    return "\n".join(_FunctionPrinter(short).lines_of(function, ""))


def _vdevice_lines(vdevices: Sequence[VirtualDevice]) -> list[str]:
    if not vdevices:
        return []
    return [f"  vdevice {', '.join(map(_vdevice, vdevices))}"]


def _vdevice(vdevice: VirtualDevice) -> str:
    device = f' = "{vdevice.device}"' if vdevice.device else ""
    scope = f" scope {quote(vdevice.scope)}" if vdevice.scope != GLOBAL_SCOPE else ""
    return f"{role(vdevice)}{device}{scope}"


def _adt_lines(adt: nodes.Adt) -> list[str]:
    params = f"[{', '.join(adt.params)}]" if adt.params else ""
    lines = [f"  type {adt.name}{params} {{"]
    for constructor in adt.constructors:
        fields = ", ".join(map(print_type, constructor.fields))
        lines.append(f"    {constructor.name}{f'({fields})' if fields else ''},")
    lines.append("  }")
    return lines


@final
@dataclass(slots=True)
class _FunctionPrinter:
    """Prints one function; knows the names that its variables have in the text."""

    short: bool
    names: Names = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    types: dict[Type, str] = field(default_factory=dict)

    def lines_of(self, function: nodes.Function, indent: str) -> list[str]:
        """Return the lines of ``function``."""
        self.names = names_in(function)
        params = [
            self._param(p) + (" donate" if i in function.donated else "")
            for i, p in enumerate(function.params)
        ]
        name, result = identifier(function.name), self._type(function.result)
        head = f"{indent}fn @{name}({', '.join(params)}) -> {result}"
        if function.bounds:
            head += f" bounds {', '.join(map(_bound, function.bounds))}"
        if function.attrs:
            head += f" attrs {{ {', '.join(print_attrs(function.attrs))} }}"
        self.lines.append(head + " {")
        run(self._block(function.body, "return", indent))
        self.lines.append(indent + "}")
        return self.lines

    def _type(self, type_: Type) -> str:
        text = self.types.get(type_)
        if text is None:
            text = self.types[type_] = print_type(type_)
        return text

    def _param(self, var: nodes.Var) -> str:
        type_ = f": {self._type(var.type)}" if var.type else ""
        return f"{self.names[var]}{type_}"

    def _block(self, block: nodes.Block, ending: str, indent: str) -> Steps[None]:
        inner = indent + "  "
        for statement in block.statements:
            if isinstance(statement, nodes.Dataflow):
                yield self._dataflow(statement, inner)
            else:
                yield self._binding(statement, inner)
        self.lines.append(f"{inner}{ending} {self.names[block.result]}")

    def _dataflow(self, dataflow: nodes.Dataflow, indent: str) -> Steps[None]:
        self.lines.append(f"{indent}dataflow {{")
        for binding in dataflow.bindings:
            yield self._binding(binding, indent + "  ")
        outputs = ", ".join(self.names[v] for v in dataflow.outputs)
        self.lines.append(f"{indent}  output {outputs}".rstrip())
        self.lines.append(f"{indent}}}")

    def _binding(self, binding: nodes.Binding, indent: str) -> Steps[None]:
        target = f"{indent}{self.names[binding.var]}{self._annotation(binding)} = "
        suffix = f" {role(binding.request)}" if binding.request else ""
        match binding.value:
            case nodes.If() as value:
                self.lines.append(f"{target}if {self.names[value.condition]} {{")
                yield self._block(value.then, "yield", indent)
                self.lines.append(f"{indent}}} else {{")
                yield self._block(value.orelse, "yield", indent)
                self.lines.append(f"{indent}}}{suffix}")
            case nodes.Match() as value:
                self.lines.append(f"{target}match {self.names[value.scrutinee]} {{")
                yield self._arms(value.arms, indent + "  ")
                self.lines.append(f"{indent}}}{suffix}")
            case nodes.Closure() as value:
                params = ", ".join(map(self._param, value.params))
                self.lines.append(f"{target}fn({params}) -> {self._type(value.result)} {{")
                yield self._block(value.body, "return", indent)
                self.lines.append(f"{indent}}}{suffix}")
            case value:
                self.lines.append(f"{target}{self._flat(value)}{suffix}")

    def _annotation(self, binding: nodes.Binding) -> str:
        type_ = binding.var.type
        if type_ is None or (self.short and not _is_meant(binding, type_)):
            return ""
        return f": {self._type(type_)}"

    def _arms(self, arms: Sequence[nodes.Arm], indent: str) -> Steps[None]:
        for arm in arms:
            pattern: str = run(self._pattern(arm.pattern))
            self.lines.append(f"{indent}{pattern} => {{")
            yield self._block(arm.body, "yield", indent)
            self.lines.append(f"{indent}}}")

    def _pattern(self, pattern: nodes.Pattern) -> Steps[str]:
        items: list[str] = []
        match pattern:
            case nodes.Wildcard():
                return "_"
            case nodes.BindPattern(var=var):
                return self.names[var]
            case nodes.ConstructorPattern() | nodes.TuplePattern():
                for item in pattern.items:
                    text: str = yield self._pattern(item)
                    items.append(text)
        if isinstance(pattern, nodes.TuplePattern):
            return parenthesized(items)
        return f"{pattern.constructor}({', '.join(items)})" if items else pattern.constructor

    def _flat(self, value: nodes.Expr) -> str:
        """Return the text of an expression without regions."""
        match value:
            case nodes.Call(op=op, args=args, attrs=attrs):
                return f"{op}({self._args(args, attrs)})"
            case nodes.Invoke(callee=callee, args=args, attrs=attrs):
                return f"{self._operand(callee)}({self._args(args, attrs)})"
            case nodes.Construct(constructor=name, args=items):
                return f"{name}({self._args(items)})"
            case nodes.Alias(var=var):
                return self.names[var]
            case nodes.FunctionValue(ref=ref):
                return self._operand(ref)
            case nodes.MakeTuple(items=items):
                return parenthesized([self.names[v] for v in items])
            case nodes.Project(tuple=var, index=index):
                return f"{self.names[var]}[{index}]"
            case nodes.Constant() | nodes.Weight():
                return print_constant(value)
            case nodes.ShapeLiteral(dims=dims):
                return f"shape [{print_dims(dims)}]"
            case nodes.If() | nodes.Match() | nodes.Closure():
                raise AssertionError("an expression with regions is printed by lines")

    def _args(self, args: Sequence[nodes.Operand], attrs: Attrs = NO_ATTRS) -> str:
        operands = [self._operand(a) for a in args]
        return ", ".join([*operands, *print_attrs(attrs)] if attrs else operands)

    def _operand(self, operand: nodes.Operand) -> str:
        if isinstance(operand, nodes.Var):
            return self.names[operand]
        return f"@{identifier(operand.function)}" if operand else "none"


def _is_meant(binding: nodes.Binding, type_: Type) -> bool:
    """Whether the type of a binding says what its expression does not."""
    value = binding.value
    if isinstance(value, nodes.Construct):
        return True  # which `Nil()` it is only a type tells
    is_cast = isinstance(value, nodes.Call) and value.op == "match_cast"
    return is_cast or any(leaf.vdevice is not None for leaf in leaves(type_))


def _bound(bound: nodes.Bound) -> str:
    upper = "" if bound.upper is None else bound.upper
    return f"{bound.symbol} in {bound.lower}..{upper}"
