"""What decides a compiled program, as one digest: the key of the cache of programs.

Everything counts that a module holds: structure, and names, places in texts and sources too, which
traces and errors show. So do all options, and what does the work: the source code of this package,
the versions of Python, NumPy and LLVM, and the processor with its features.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import platform
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final, final

from reference_vm.bytecode.codec import Codec, Encode, Form
from reference_vm.bytecode.serializer import Sources
from reference_vm.devices.cpu import cores
from reference_vm.ir.nodes import Constant, Module, Var
from reference_vm.ir.rewrite import walk
from reference_vm.source import Span
from reference_vm.types import (
    AdtType,
    Attrs,
    FunctionType,
    ShapeType,
    TensorType,
    TupleType,
)


def key(module: Module, options: Mapping[str, object]) -> str:
    """Return the digest of what decides the program that ``module`` is compiled to.

    Args:
        module: What is compiled.
        options: All else that a caller chose; each value's ``repr`` says all of it.
    """
    said = [_work(), sorted((name, repr(value)) for name, value in options.items())]
    hashed = hashlib.sha256(json.dumps(said).encode())
    hashed.update(_content(module).encode())
    return hashed.hexdigest()


def _content(module: Module) -> str:
    """Return a text that is equal for equal modules only, spans and names included."""
    digests = _digests(constants_of(module))
    sources = Sources()
    known = _Known(sources)
    codec = Codec(
        {
            Var: _written(known.variable),
            Span: _written(sources.encode),
            Attrs: _written(repr),
            bytes: _written(lambda data: digests[id(data)]),
            frozenset[int]: _written(sorted),
            **dict.fromkeys(_TYPES, _written(known.type)),
        }
    )
    tree = codec.form(Module).encode(module)
    texts = [(s.name, s.text, s.first_line) for s in sources.known]
    return json.dumps([tree, known.variables, list(map(repr, known.types)), texts])


def constants_of(module: Module) -> list[bytes]:
    """Return the elements of each constant, in the order of the module's text."""
    return [
        binding.value.data
        for function in module.functions
        for binding in walk(function.body)
        if isinstance(binding.value, Constant)
    ]


def _digests(constants: Sequence[bytes]) -> Mapping[int, str]:
    """Return the digest of each, by identity: hashing is most of the time a large model takes."""
    with ThreadPoolExecutor(cores()) as pool:  # which lets go of the interpreter's lock
        found = pool.map(lambda data: hashlib.sha256(data).hexdigest(), constants)
        return dict(zip(map(id, constants), found, strict=True))


def _written(encode: Encode) -> Form:
    """Return a form that is only ever written."""

    def unread(tree: Any) -> Any:
        raise AssertionError("a digest is not read")

    return Form(encode, unread)


_TYPES: Final = (TensorType, ShapeType, TupleType, FunctionType, AdtType)


@final
@dataclass
class _Known:
    """Variables and types, each once; where they stand is their number."""

    sources: Sources
    variables: list[Any] = field(default_factory=list)
    types: dict[Any, int] = field(default_factory=dict)
    _numbers: dict[Var, int] = field(default_factory=dict)

    def variable(self, var: Var) -> int:
        number = self._numbers.get(var)
        if number is None:
            number = self._numbers[var] = len(self._numbers)
            span = None if var.span is None else self.sources.encode(var.span)
            type_ = None if var.type is None else self.type(var.type)
            self.variables.append((var.name, type_, span, var.source, var.node))
        return number

    def type(self, type_: Any) -> int:
        return self.types.setdefault(type_, len(self.types))


_PACKAGE: Final = __name__.partition(".")[0]


@cache
def _work() -> str:
    """Return what compiles here, and for which processor."""
    hashed = hashlib.sha256()
    for name, content in modules():
        hashed.update(f"{name} {len(content)}\n".encode())
        hashed.update(content)
    packages = {name: version(name) for name in ("numpy", "ml_dtypes")}
    return json.dumps([hashed.hexdigest(), sys.version, platform.machine(), packages, _llvm()])


def modules() -> list[tuple[str, bytes]]:
    """Return the name and the source of every module of this package."""
    return _below(files(_PACKAGE), "")


def _below(folder: Traversable, name: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for item in sorted(folder.iterdir(), key=lambda i: i.name):
        inner = f"{name}/{item.name}"
        if item.is_dir():
            found.extend(_below(item, inner))
        elif item.name.endswith(".py"):
            found.append((inner, item.read_bytes()))
    return found


def _llvm() -> str:
    """Return the processor, its features and the version of LLVM; empty without LLVM."""
    if importlib.util.find_spec("llvmlite") is None:
        return ""
    from reference_vm.jit.machine import shared_machine

    return shared_machine().identity
