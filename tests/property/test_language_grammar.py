"""The page's grammar, the parser and the lexer are one language."""

from __future__ import annotations

import json
import re
from functools import cache

from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark, Token
from lark.exceptions import LarkError

from reference_vm.diagnostics import CompileError
from reference_vm.text import parse
from reference_vm.text.lexer import SIGNS, WORDS, tokenize
from reference_vm.types import DTYPES
from tests.property.grammar import PAGE, lark_grammar, quoted_words
from tests.property.samples import EVERYTHING

SYNTAX = {"syntax-error", "unreadable-text"}

FRAMES = {
    "r_decl": "module {{ {} }}",
    "r_function": "module {{ {} }}",
    "r_stmt": "module {{ fn @f() -> f32[] {{ {} return %x }} }}",
    "r_expr": "module {{ fn @f() -> f32[] {{ %x = {} return %x }} }}",
    "r_type": "module {{ fn @f(%x: {}) -> f32[] {{ return %x }} }}",
    "r_const": "module {{ fn @f() -> f32[] {{ %x = {} return %x }} }}",
    "r_attr": "module {{ fn @f() -> f32[] {{ %x = g({}) return %x }} }}",
    "r_dim": "module {{ fn @f() -> f32[{}] {{ return %x }} }}",
}
"""For each rule a module that it stands in."""


@cache
def grammar(start: str = "r_module") -> Lark:
    return Lark(lark_grammar(), parser="lalr", lexer="basic", start=start)


def page_accepts(text: str) -> bool:
    """Whether the grammar accepts ``text``, and its strings are of whole characters."""
    try:
        tree = grammar().parse(text)
    except LarkError:
        return False
    strings = tree.scan_values(lambda token: isinstance(token, Token) and '"' in token)
    return all(map(_is_whole, strings))


def _is_whole(token: Token) -> bool:
    written = token[token.index('"') :]
    try:
        json.loads(written).encode()
    except UnicodeEncodeError:
        return False
    return True


def parser_accepts(text: str) -> bool:
    try:
        parse(text)
    except CompileError as error:
        return not any(d.code in SYNTAX for d in error.diagnostics)
    return True


def test_the_words_and_signs_of_the_page_are_those_of_the_lexer() -> None:
    assert quoted_words() == {*WORDS, *SIGNS, *DTYPES}


def test_every_program_on_the_page_is_in_the_grammar_and_parses() -> None:
    programs = re.findall(r"```hir\n(.*?)```", PAGE.read_text(), re.DOTALL)

    assert len(programs) >= 2
    for program in programs:
        assert page_accepts(program)
        parse(program)


def test_the_sample_uses_every_word_and_sign() -> None:
    kinds = set(tokenize(EVERYTHING).kinds)

    assert page_accepts(EVERYTHING)
    assert kinds >= ({*WORDS, *SIGNS} - {"false"}) | {"DTYPE", "STRING", "FLOAT", "UNAME"}


@given(st.sampled_from(sorted(FRAMES)), st.data())
@settings(max_examples=100, deadline=None)
def test_what_the_page_generates_the_parser_accepts(rule: str, data: st.DataObject) -> None:
    text = FRAMES[rule].format(data.draw(_generated(rule)))

    assert page_accepts(text) == parser_accepts(text)


@cache
def _generated(rule: str) -> st.SearchStrategy[str]:
    return from_lark(grammar(rule), start=rule)


def _pieces() -> list[str]:
    tokens = tokenize(EVERYTHING)
    return [word for word in tokens.words if word]


PIECES = _pieces()
EXTRA = sorted(
    {*WORDS, *SIGNS, "%x", "@f", "name", "Name", "1", "1.5", '"s"', "f32", "$", "%", "_x"}
)


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(PIECES) - 1), st.sampled_from(["drop", "double", "swap", *EXTRA])
        ),
        min_size=1,
        max_size=2,
    )
)
@settings(max_examples=200, deadline=None)
@example([(PIECES.index("const") + 1, "name")])
def test_after_a_change_of_tokens_both_accept_or_both_refuse(
    changes: list[tuple[int, str]],
) -> None:
    pieces = list(PIECES)
    for at, change in changes:
        match change:
            case "drop":
                pieces[at] = ""
            case "double":
                pieces[at] = f"{pieces[at]} {pieces[at]}"
            case "swap":
                pieces[at - 1], pieces[at] = pieces[at], pieces[at - 1]
            case _:
                pieces[at] = change
    text = " ".join(pieces)

    assert page_accepts(text) == parser_accepts(text)


@given(st.integers(0, len(EVERYTHING)), st.text('%@"\\/.-0e5fx_ \n[]{}', max_size=4))
@settings(max_examples=200, deadline=None)
def test_after_a_change_of_characters_both_accept_or_both_refuse(at: int, inserted: str) -> None:
    text = EVERYTHING[:at] + inserted + EVERYTHING[at + 1 :]

    assert page_accepts(text) == parser_accepts(text)
