"""Pipelines as text: ``infer-types, fold-constants{limit=1024}, place{patterns="*=accel"}``.

Each part is a pass and, in braces, those of its options that do not have their default.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, get_type_hints

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.passes.context import Pass
from reference_vm.source import Source, Span

_PASS: Final = re.compile(
    r"\s*(?P<name>[a-z][a-z0-9-]*)\s*(?P<options>\{(?:[^}\"]|\"[^\"]*\")*\})?\s*"
)
_OPTION: Final = re.compile(
    r"\s*(?P<name>[a-z][a-z0-9_]*)\s*=\s*(?P<value>\"[^\"]*\"|[^,\"\s}]+)\s*(?:,|$)"
)


def parse(text: str, passes: Mapping[str, type[Pass]]) -> tuple[Pass, ...]:
    """Return the passes that ``text`` names; an empty text names none.

    Raises:
        CompileError: A pass or an option is unknown, or the text has another form.
    """
    source = Source("<pipeline>", text)
    if not text.strip():
        return ()
    return tuple(_parts(source, passes))


def _parts(source: Source, passes: Mapping[str, type[Pass]]) -> Iterator[Pass]:
    start = 0
    while True:
        found = _PASS.match(source.text, start)
        if found is None:
            raise CompileError(catalog.pipeline_syntax(source.span(start, start + 1)))
        name = found["name"]
        if name not in passes:
            span = source.span(found.start("name"), found.end("name"))
            raise CompileError(catalog.unknown_pass(name, tuple(passes), span))
        yield _made(passes[name], found, source)
        if found.end() == len(source.text):
            return
        if source.text[found.end()] != ",":
            raise CompileError(catalog.pipeline_syntax(source.span(found.end(), found.end() + 1)))
        start = found.end() + 1


def _made(pass_: type[Pass], found: re.Match[str], source: Source) -> Pass:
    span = source.span(found.start("name"), found.end())
    options = dict(_options(found, source))
    kinds = _option_kinds(pass_)
    values: dict[str, object] = {}
    for name, text in options.items():
        if name not in kinds:
            raise CompileError(catalog.unknown_pass_option(pass_.name, name, tuple(kinds), span))
        values[name] = _value(pass_, name, text, kinds[name], span)
    assert dataclasses.is_dataclass(pass_)
    missing = [
        f.name for f in dataclasses.fields(pass_) if _is_required(f) and f.name not in values
    ]
    if missing:
        raise CompileError(catalog.missing_pass_option(pass_.name, missing[0], span))
    return pass_(**values)


def _is_required(field: dataclasses.Field[object]) -> bool:
    no_default = field.default is dataclasses.MISSING
    return no_default and field.default_factory is dataclasses.MISSING


def _options(found: re.Match[str], source: Source) -> Iterator[tuple[str, str]]:
    if found["options"] is None:
        return
    start, end = found.start("options") + 1, found.end("options") - 1
    while source.text[start:end].strip():
        option = _OPTION.match(source.text, start, end)
        if option is None:
            raise CompileError(catalog.pipeline_syntax(source.span(start, end)))
        yield option["name"], option["value"].strip('"')
        start = option.end()


def _option_kinds(pass_: type[Pass]) -> dict[str, type]:
    hints = get_type_hints(pass_)
    assert dataclasses.is_dataclass(pass_)
    return {f.name: hints[f.name] for f in dataclasses.fields(pass_)}


def _value(pass_: type[Pass], name: str, text: str, kind: type, span: Span) -> object:
    if kind is bool and text in ("true", "false"):
        return text == "true"
    if kind is int and text.removeprefix("-").isdecimal():
        return int(text)
    if kind is str:
        return text
    raise CompileError(catalog.pass_option_value(pass_.name, name, text, kind.__name__, span))


def text_of(passes: Sequence[Pass]) -> str:
    """Return the text that `parse` reads as ``passes``, without options that have their default."""
    return ", ".join(map(_text, passes))


def _text(pass_: Pass) -> str:
    assert dataclasses.is_dataclass(pass_)
    options = [
        f"{f.name}={_printed(getattr(pass_, f.name))}"
        for f in dataclasses.fields(pass_)
        if _is_required(f) or getattr(pass_, f.name) != f.default
    ]
    return f"{pass_.name}{{{', '.join(options)}}}" if options else pass_.name


def _printed(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


__all__ = ["parse", "text_of"]
