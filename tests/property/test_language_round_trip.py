"""Parsing and printing are inverse, and every text ends in a module or located diagnostics."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_vm.diagnostics import CompileError, Diagnostic
from reference_vm.ir import nodes, structural, verify
from reference_vm.text import parse, print_module
from reference_vm.text.lexer import tokenize
from tests.property.modules import modules
from tests.property.samples import EVERYTHING

SLOW = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@SLOW
@given(modules())
def test_a_printed_module_parses_to_an_equal_one_and_prints_alike(module: nodes.Module) -> None:
    text = print_module(module)
    parsed = parse(text)

    assert structural.equal(parsed, module)
    assert structural.digest(parsed) == structural.digest(module)
    assert print_module(parsed) == text


@SLOW
@given(modules())
def test_short_printing_leaves_out_the_types_of_bindings_only(module: nodes.Module) -> None:
    text = print_module(module, short=True)

    assert print_module(parse(text)) == text


@SLOW
@given(modules())
def test_every_prefix_of_a_printed_module_gives_one_located_diagnostic(
    module: nodes.Module,
) -> None:
    text = print_module(module).rstrip()
    for cut in range(0, len(text), max(1, len(text) // 25)):
        assert_one_located(text[:cut])


def assert_one_located(text: str) -> None:
    found = problems(text)

    assert len(found) == 1
    assert found[0].span is not None
    assert 0 <= found[0].span.start <= len(text)
    assert str(found[0])


def problems(text: str) -> tuple[Diagnostic, ...]:
    try:
        verify.verify(parse(text))
    except CompileError as error:
        return error.diagnostics
    return ()


def test_every_prefix_of_the_sample_gives_one_located_diagnostic() -> None:
    for cut in range(len(EVERYTHING.rstrip())):
        assert_one_located(EVERYTHING[:cut])


@given(st.text())
def test_any_text_ends_in_located_diagnostics(text: str) -> None:
    found = problems(text)

    assert found
    assert all(d.span is not None for d in found)


PIECES = [word for word in tokenize(EVERYTHING).words if word]


@given(st.lists(st.tuples(st.integers(0, len(PIECES) - 1), st.sampled_from(PIECES)), max_size=4))
@settings(deadline=None)
def test_a_changed_program_ends_in_located_diagnostics(changes: list[tuple[int, str]]) -> None:
    pieces = list(PIECES)
    for at, piece in changes:
        pieces[at] = piece

    found = problems("\n".join(pieces))

    assert all(d.span is not None for d in found)
