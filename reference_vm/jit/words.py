"""A small language for machine code: Python functions over 64-bit words, printed as LLVM IR.

    def total(numbers: int, count: int) -> int:
        found = 0
        for i in range(count):
            found += load(numbers, i)
        return found

    address = machine.address(*module(total))

Every value is an integer of 64 bits, addresses included; ``load(p, i)`` is the word at address
``p + 8 * i``. There are names, integers, constants of the module around (also of an `IntEnum`),
``+ - * & | ^ << >> //`` (``//`` of numbers that are not negative), comparisons, ``and or not``,
conditional expressions, ``if``, ``while``, ``for i in range(...)``, ``match`` on constants (which
becomes a jump table), ``break``, ``continue``, ``return``, and calls of functions of the same kind
and of the intrinsics below. A function gives its callers one word, 0 where it returns nothing.

The functions are Python too: called as such they do the same, slowly, as long as no number
overflows.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import EnumType
from types import FunctionType
from typing import Any, Final, NoReturn, final

Function = Callable[..., int]

_STAGE: Final = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_PAIR: Final = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)


def load(address: int, index: int) -> int:
    """Return word ``index`` at an address."""
    return ctypes.c_int64.from_address(address + 8 * index).value


def store(address: int, index: int, value: int) -> int:
    """Write word ``index`` at an address."""
    ctypes.c_int64.from_address(address + 8 * index).value = value
    return 0


def load_int(address: int) -> int:
    """Return the 32-bit integer at an address."""
    return ctypes.c_int32.from_address(address).value


def load_byte(address: int) -> int:
    """Return the byte at an address, 0 to 255."""
    return ctypes.c_uint8.from_address(address).value


def store_byte(address: int, value: int) -> int:
    """Write the byte at an address."""
    ctypes.c_uint8.from_address(address).value = value
    return 0


def move(target: int, source: int, nbytes: int) -> int:
    """Copy bytes; the two ranges do not overlap."""
    ctypes.memmove(target, source, nbytes)
    return 0


def leading_zeros(value: int) -> int:
    """Return how many of the 64 bits are 0 before the first that is 1."""
    return 64 - value.bit_length() if value >= 0 else 0


def call(entry: int, block: int, low: int, high: int) -> int:
    """Call ``void (int64_t *block, int64_t low, int64_t high)`` at an address."""
    _STAGE(entry)(block, low, high)
    return 0


def call_pair(entry: int, first: int, second: int) -> int:
    """Call ``void (int64_t, int64_t)`` at an address."""
    _PAIR(entry)(first, second)
    return 0


def apart(number: int) -> int:
    """Do nothing, but keep this place from being joined with others like it.

    A processor foresees where a call by address leads by where it stands.
    """
    return number


_INTRINSICS: Final[dict[object, Callable[[_Printer, Sequence[str]], str]]] = {
    load: lambda out, a: out.value(f"load i64, ptr {out.word(a[0], a[1])}"),
    store: lambda out, a: out.effect(f"store i64 {a[2]}, ptr {out.word(a[0], a[1])}"),
    load_int: lambda out, a: out.widened("i32", "sext", a[0]),
    load_byte: lambda out, a: out.widened("i8", "zext", a[0]),
    store_byte: lambda out, a: out.narrow_store(a[0], a[1]),
    move: lambda out, a: out.copied(*a),
    leading_zeros: lambda out, a: out.value(f"call i64 @llvm.ctlz.i64(i64 {a[0]}, i1 false)"),
    call: lambda out, a: out.called(*a),
    call_pair: lambda out, a: out.called(*a),
    apart: lambda out, a: out.effect(f'call void asm sideeffect "# {a[0]}", ""()'),
}

_DECLARED: Final = """declare i64 @llvm.ctlz.i64(i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

_OPERATORS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
    ast.FloorDiv: "sdiv",
}

_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "slt",
    ast.LtE: "sle",
    ast.Gt: "sgt",
    ast.GtE: "sge",
}


def source(functions: Sequence[Function]) -> str:
    """Return what the functions are made from, for `Machine.address`: their code and constants.

    Their code is Python's own, which says what their texts do, and is at hand without reading them.
    """
    return "\n".join(f"{_code(f)} {_constants(f)}" for f in functions)


def _code(function: Function) -> str:
    assert isinstance(function, FunctionType)
    code = function.__code__
    names = (code.co_name, code.co_varnames, code.co_names, code.co_argcount)
    return f"{names} {code.co_consts} {code.co_code.hex()}"


def print_module(functions: Sequence[Function]) -> str:
    """Return a module of LLVM IR in which the last function is the entry, ``@kernel``.

    Raises:
        SyntaxError: A function uses what this language has not.
    """
    *inner, entry = functions
    texts = [_Printer(f, f"internal i64 @{f.__name__}").print() for f in inner]
    return _DECLARED + "".join([*texts, _Printer(entry, "i64 @kernel").print()])


def _constants(function: Function) -> str:
    """Return the values of the names that a function uses, since its text has not got them."""
    assert isinstance(function, FunctionType)
    shown: list[str] = []
    for name in sorted(set(function.__code__.co_names)):
        value = function.__globals__.get(name)
        if isinstance(value, EnumType):
            shown.append(f"{name}: {value.__members__}")
        elif isinstance(value, int):
            shown.append(f"{name}: {int(value)}")
    return "; ".join(shown)


@final
@dataclass
class _Printer:
    """Prints one function. Variables live in memory; LLVM finds registers for them."""

    function: Function
    head: str
    lines: list[str] = field(default_factory=list)
    variables: dict[str, None] = field(default_factory=dict)
    loops: list[tuple[str, str]] = field(default_factory=list)
    """Where ``continue`` and ``break`` go."""

    count: int = 0

    def print(self) -> str:
        tree = ast.parse(textwrap.dedent(inspect.getsource(self.function)))
        definition = tree.body[0]
        assert isinstance(definition, ast.FunctionDef)
        names = [a.arg for a in definition.args.args]
        for name in names:
            self._place(name)
        self._block(definition.body)
        self.effect("ret i64 0")
        params = ", ".join(f"i64 %in.{name}" for name in names)
        slots = [f"  %v.{name} = alloca i64" for name in self.variables]
        given = [f"  store i64 %in.{name}, ptr %v.{name}" for name in names]
        head = f"define {self.head}({params}) nounwind noimplicitfloat {{\nentry:"
        return "\n".join([head, *slots, *given, *self.lines, "}", ""])

    # What intrinsics are printed with.

    def value(self, text: str) -> str:
        """Print an instruction; return its result's name."""
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def effect(self, text: str) -> str:
        self.lines.append(f"  {text}")
        return "0"

    def pointer(self, address: str) -> str:
        return self.value(f"inttoptr i64 {address} to ptr")

    def word(self, address: str, index: str) -> str:
        return self.value(f"getelementptr i64, ptr {self.pointer(address)}, i64 {index}")

    def widened(self, kind: str, how: str, address: str) -> str:
        narrow = self.value(f"load {kind}, ptr {self.pointer(address)}, align 1")
        return self.value(f"{how} {kind} {narrow} to i64")

    def narrow_store(self, address: str, value: str) -> str:
        pointer, narrow = self.pointer(address), self.value(f"trunc i64 {value} to i8")
        return self.effect(f"store i8 {narrow}, ptr {pointer}, align 1")

    def copied(self, target: str, origin: str, nbytes: str) -> str:
        to, start = self.pointer(target), self.pointer(origin)
        arguments = f"ptr {to}, ptr {start}, i64 {nbytes}, i1 false"
        return self.effect(f"call void @llvm.memcpy.p0.p0.i64({arguments})")

    def called(self, entry: str, *words: str) -> str:
        arguments = ", ".join(f"i64 {w}" for w in words)
        return self.effect(f"call void {self.pointer(entry)}({arguments})")

    # Statements.

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(name, self._word(value))
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                new = self._binary(op, self._read(name), self._word(value), node)
                self._assign(name, new)
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self._word(value)
            case ast.Return(value=value):
                self.effect(f"ret i64 {'0' if value is None else self._word(value)}")
                self._label(self._fresh("dead"))
            case ast.Break() | ast.Continue():
                self.effect(f"br label %{self.loops[-1][isinstance(node, ast.Break)]}")
                self._label(self._fresh("dead"))
            case _:
                self._compound(node)

    def _compound(self, node: ast.stmt) -> None:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                self._if(test, body, orelse)
            case ast.While(test=test, body=body, orelse=[]):
                self._while(test, body)
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=bounds),
                body=body,
                orelse=[],
            ):
                self._for(name, bounds, body)
            case ast.Match(subject=subject, cases=cases):
                self._match(subject, cases)
            case _:
                self._refuse(node)

    def _if(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        then, otherwise, after = self._fresh("then"), self._fresh("else"), self._fresh("after")
        self._branch(test, then, otherwise)
        for label, statements in ((then, body), (otherwise, orelse)):
            self._label(label)
            self._block(statements)
            self.effect(f"br label %{after}")
        self._label(after)

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        head, inside, after = self._fresh("head"), self._fresh("inside"), self._fresh("after")
        self.effect(f"br label %{head}")
        self._label(head)
        self._branch(test, inside, after)
        self._label(inside)
        self._loop(body, head, after)
        self.effect(f"br label %{head}")
        self._label(after)

    def _for(self, name: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        labels = [self._fresh(part) for part in ("head", "inside", "next", "after")]
        head, inside, following, after = labels
        first, last = ["0", *map(self._word, bounds)][-2:]
        self._assign(name, first)
        self.effect(f"br label %{head}")
        self._label(head)
        more = self.value(f"icmp slt i64 {self._read(name)}, {last}")
        self.effect(f"br i1 {more}, label %{inside}, label %{after}")
        self._label(inside)
        self._loop(body, following, after)
        self.effect(f"br label %{following}")
        self._label(following)
        self._assign(name, self.value(f"add i64 {self._read(name)}, 1"))
        self.effect(f"br label %{head}")
        self._label(after)

    def _loop(self, body: Sequence[ast.stmt], again: str, after: str) -> None:
        self.loops.append((again, after))
        self._block(body)
        self.loops.pop()

    def _match(self, subject: ast.expr, cases: Sequence[ast.match_case]) -> None:
        after = self._fresh("after")
        labels = [self._fresh("case") for _ in cases]
        chosen = self._word(subject)
        arms: list[str] = []
        default = after
        for case, label in zip(cases, labels, strict=True):
            values = _case_values(case)
            if values is None:
                default = label
            arms += [f"i64 {self._word(v)}, label %{label}" for v in values or ()]
        self.effect(f"switch i64 {chosen}, label %{default} [ {' '.join(arms)} ]")
        for case, label in zip(cases, labels, strict=True):
            self._label(label)
            self._block(case.body)
            self.effect(f"br label %{after}")
        self._label(after)

    # Expressions.

    def _word(self, node: ast.expr) -> str:
        """Print an expression; return the word that it is."""
        match node:
            case ast.Constant(value=int() as value):
                return str(int(value))
            case ast.Name(id=name) if name in self.variables:
                return self._read(name)
            case ast.Name() | ast.Attribute():
                return str(int(self._outside(node)))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._word(left), self._word(right), node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.value(f"sub i64 0, {self._word(operand)}")
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self.value(f"xor i64 {self._word(operand)}, -1")
            case ast.Call(func=func, args=args, keywords=[]):
                return self._call(self._outside(func), [self._word(a) for a in args])
            case _:
                return self._choice(node)

    def _choice(self, node: ast.expr) -> str:
        """Print an expression with branches in it."""
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen: tuple[ast.expr, ast.expr] = (body, orelse)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                test, chosen = node, (ast.Constant(1), ast.Constant(0))
            case _:
                self._refuse(node)
        labels = self._fresh("then"), self._fresh("else")
        after, result = self._fresh("after"), self._fresh(".chosen")
        self._branch(test, *labels)
        for label, value in zip(labels, chosen, strict=True):
            self._label(label)
            self._assign(result, self._word(value))
            self.effect(f"br label %{after}")
        self._label(after)
        return self._read(result)

    def _branch(self, test: ast.expr, then: str, otherwise: str) -> None:
        """Print a jump to one of two labels."""
        match test:
            case ast.BoolOp(op=op, values=[first, *rest]):
                both = isinstance(op, ast.And)
                for part in (first, *rest[:-1]):
                    following = self._fresh("test")
                    self._branch(part, *((following, otherwise) if both else (then, following)))
                    self._label(following)
                self._branch(rest[-1], then, otherwise)
                return
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._branch(operand, otherwise, then)
                return
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                words = f"{self._word(left)}, {self._word(right)}"
                bit = self.value(f"icmp {_COMPARISONS[type(op)]} i64 {words}")
            case _:
                bit = self.value(f"icmp ne i64 {self._word(test)}, 0")
        self.effect(f"br i1 {bit}, label %{then}, label %{otherwise}")

    def _binary(self, op: ast.operator, left: str, right: str, node: ast.AST) -> str:
        if type(op) not in _OPERATORS:
            self._refuse(node)
        return self.value(f"{_OPERATORS[type(op)]} i64 {left}, {right}")

    def _call(self, callee: Any, args: Sequence[str]) -> str:
        intrinsic = _INTRINSICS.get(callee)
        if intrinsic is not None:
            return intrinsic(self, args)
        words = ", ".join(f"i64 {a}" for a in args)
        return self.value(f"call i64 @{callee.__name__}({words})")

    def _outside(self, node: ast.expr) -> Any:
        """Return what a name of the module around the function stands for."""
        match node:
            case ast.Name(id=name):
                assert isinstance(self.function, FunctionType)
                found = self.function.__globals__.get(name)
            case ast.Attribute(value=value, attr=attr):
                found = getattr(self._outside(value), attr, None)
            case _:
                found = None
        return self._refuse(node) if found is None else found

    # Variables and labels.

    def _place(self, name: str) -> None:
        self.variables.setdefault(name)

    def _assign(self, name: str, value: str) -> None:
        self._place(name)
        self.effect(f"store i64 {value}, ptr %v.{name}")

    def _read(self, name: str) -> str:
        return self.value(f"load i64, ptr %v.{name}")

    def _fresh(self, name: str) -> str:
        self.count += 1
        return f"{name}{self.count}"

    def _label(self, name: str) -> None:
        """Begin a block; whoever prints one has ended the block before."""
        self.lines.append(f"{name}:")

    def _refuse(self, node: ast.AST) -> NoReturn:
        name, text = getattr(self.function, "__name__", "?"), ast.unparse(node)
        raise SyntaxError(f"{name}: the language of words has no {text!r}")


def _case_values(case: ast.match_case) -> Sequence[ast.expr] | None:
    """Return the constants of a case; ``None`` for the one that takes all others."""
    match case.pattern:
        case ast.MatchValue(value=value):
            return (value,)
        case ast.MatchOr(patterns=patterns):
            return tuple(p.value for p in patterns if isinstance(p, ast.MatchValue))
        case _:
            return None
