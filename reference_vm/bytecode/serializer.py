"""An executable as a tree of JSON's lists and scalars, and back.

::

    {"layout": {"Executable": ["devices", "kernels", …], "Launch": ["kernel", …], …},
     "sources": [["model.hir", "module {…", 1]],
     "executable": [["cpu:0", "sim:0"], [["add", "cpu"]], …]}

`codec` says how values are written. A span is the index of its source, a start and an end. The
elements of constants are not in the tree: each constant names a tensor beside it, by `WeightFile`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from reference_vm.bytecode.codec import Codec, Form, FormatError
from reference_vm.bytecode.executable import Executable, InlineData
from reference_vm.source import Source, Span

KEYS: Final = ("layout", "sources", "executable")


def to_tree(executable: Executable) -> dict[str, Any]:
    """Return the tree of an executable whose constants all lie in weights files."""
    sources = Sources()
    codec = _codec(sources)
    written = codec.form(Executable).encode(executable)
    return {
        "layout": dict(sorted(codec.layout.items())),
        "sources": [[s.name, s.text, s.first_line] for s in sources.known],
        "executable": written,
    }


def from_tree(tree: Any) -> Executable:
    """Return the executable that a tree says; whether it is well formed is for the verifier.

    Raises:
        FormatError: The tree is not one that `to_tree` of this version makes.
    """
    if type(tree) is not dict or tuple(tree) != KEYS:
        raise FormatError(tree, f"an object with the keys {', '.join(KEYS)}")
    sources = Sources(_sources(tree["sources"]))
    codec = _codec(sources)
    form = codec.form(Executable)
    _check_layout(tree["layout"], codec.layout)
    try:
        found = form.decode(tree["executable"])
    except FormatError as error:
        raise error.at("executable") from None
    except RecursionError:
        raise FormatError("types that nest too deep", "types of a program") from None
    assert isinstance(found, Executable)
    return found


@final
@dataclass
class Sources:
    """The texts that spans point into, each once."""

    known: list[Source] = field(default_factory=list)
    _indices: dict[int, int] = field(default_factory=dict)

    def encode(self, span: Span) -> list[int]:
        index = self._indices.get(id(span.source))
        if index is None:
            index = self._indices[id(span.source)] = self._index(span.source)
        return [index, span.start, span.end]

    def _index(self, source: Source) -> int:
        if source not in self.known:
            self.known.append(source)
        return self.known.index(source)

    def decode(self, tree: Any) -> Span:
        if type(tree) is not list or list(map(type, tree)) != [int, int, int]:
            raise FormatError(tree, "a source, a start and an end")
        index, start, end = tree
        if not 0 <= index < len(self.known):
            raise FormatError(index, f"one of {len(self.known)} sources")
        source = self.known[index]
        if not 0 <= start <= end <= len(source.text):
            raise FormatError(tree, f"a part of a text of {len(source.text)} characters")
        return Span(source, start, end)


def _codec(sources: Sources) -> Codec:
    return Codec({Span: Form(sources.encode, sources.decode), InlineData: Form(_beside, _beside)})


def _beside(_: Any) -> Any:
    raise FormatError("elements", "the name of a tensor beside the tree")


def _check_layout(found: Any, expected: Mapping[str, list[str]]) -> None:
    """Raise `FormatError` unless classes and fields are those of this version."""
    if type(found) is not dict:
        raise FormatError(found, "an object", "layout")
    for name in sorted({*found, *expected}):
        if name not in expected:
            raise FormatError(name, "a class that this version knows", "layout")
        if found.get(name) != expected[name]:
            fields = ", ".join(expected[name])
            raise FormatError(_fields(found.get(name)), f"fields {fields}", "layout", name)


def _fields(found: Any) -> Any:
    whole = isinstance(found, list) and all(isinstance(f, str) for f in found)
    return ", ".join(found) if whole else found


def _sources(tree: Any) -> list[Source]:
    if type(tree) is not list:
        raise FormatError(tree, "a list", "sources")
    for at, part in enumerate(tree):
        if type(part) is not list or list(map(type, part)) != [str, str, int]:
            raise FormatError(
                part, "a name, a text and the number of its first line", "sources", at
            )
    return [Source(*part) for part in tree]
