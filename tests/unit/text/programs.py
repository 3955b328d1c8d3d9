"""Short ways to a program and to what is wrong with it."""

from __future__ import annotations

from reference_vm.diagnostics import CompileError, Diagnostic
from reference_vm.ir import nodes, verify
from reference_vm.source import Source
from reference_vm.text import parse, print_module

HEAD = "vdevice @host, @accel"


def module(functions: str, head: str = HEAD) -> str:
    return f"module {{ {head}\n{functions}\n}}"


def body(statements: str, result: str = "%x") -> str:
    """Return a module with one function of ``%x`` and these statements."""
    return module(f"fn @main(%x: f32[n, 4]) -> f32[...] {{\n{statements}\nreturn {result} }}")


def value(expression: str) -> nodes.Expr:
    """Return one expression parsed, after ``%x`` and ``%y``."""
    parsed = parse(body(f"%y = exp(%x)\n%v = {expression}"))
    binding = parsed.functions[0].body.statements[1]
    assert isinstance(binding, nodes.Binding)
    return binding.value


def printed(expression: str) -> str:
    """Return one expression parsed and printed again."""
    line = print_module(parse(body(f"%v = {expression}"))).splitlines()[3]
    return line.strip().removeprefix("%v = ")


def problems(text: str | Source) -> list[Diagnostic]:
    """Return what parser and verifier find."""
    try:
        return verify.check(parse(text))
    except CompileError as error:
        return list(error.diagnostics)


def codes(text: str | Source) -> list[str]:
    return [problem.code for problem in problems(text)]
