"""The text form: `parse` reads a module, `print_module` writes one; the two are inverse."""

from __future__ import annotations

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import Module
from reference_vm.source import Source
from reference_vm.text.markers import markers
from reference_vm.text.parser import parse_module
from reference_vm.text.printer import print_function, print_module
from reference_vm.text.value_printer import print_type

__all__ = ["markers", "parse", "print_function", "print_module", "print_type"]


def parse(text: str | Source, name: str = "<text>") -> Module:
    """Return the module that ``text`` says; ``name`` is what messages call it.

    Raises:
        CompileError: The text is not in the language. A syntax error is reported alone, what is
            wrong beyond the grammar all at once. Rules about names are those of `ir.verify`.
    """
    if not isinstance(text, str | Source):
        raise CompileError(catalog.invalid_option("text", text, "a string"))
    return parse_module(text if isinstance(text, Source) else Source(name, text))
