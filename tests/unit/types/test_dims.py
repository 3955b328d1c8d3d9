"""Dims compute what integers compute, in one form for equal polynomials."""

from __future__ import annotations

import functools
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_vm.types.dim import (
    FUNCTIONS,
    UNKNOWN,
    Dim,
    Poly,
    Relation,
    add,
    apply,
    ceildiv,
    evaluate,
    floordiv,
    multiply,
    product,
    relate,
    substitute,
    subtract,
    symbol,
    symbols,
)
from reference_vm.types.types import str_dim

N, M = symbol("n"), symbol("m")

Expression = tuple[Dim, str]
"""A dim, and the Python expression that it was made by."""


def _grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    def combine(operator: str, left: Expression, right: Expression) -> Expression:
        made = {"+": add, "-": subtract, "*": multiply}[operator]
        return made(left[0], right[0]), f"({left[1]} {operator} {right[1]})"

    def divide(function: str, left: Expression, right: int) -> Expression:
        python = {
            "floordiv": f"({left[1]} // {right})",
            "ceildiv": f"-(-{left[1]} // {right})",
            "mod": f"({left[1]} % {right})",
            "min": f"min({left[1]}, {right})",
            "max": f"max({left[1]}, {right})",
        }
        return apply(function, left[0], right), python[function]

    return st.builds(combine, st.sampled_from("+-*"), inner, inner) | st.builds(
        divide, st.sampled_from(FUNCTIONS), inner, st.integers(1, 5)
    )


EXPRESSIONS = st.recursive(
    st.sampled_from([(N, "n"), (M, "m")]) | st.integers(-4, 9).map(lambda i: (i, f"({i})")),
    _grown,
    max_leaves=8,
)


@given(EXPRESSIONS, st.integers(0, 9), st.integers(0, 9))
def test_a_dim_is_the_number_that_its_expression_is(expression: Expression, n: int, m: int) -> None:
    dim, python = expression

    assert evaluate(dim, {"n": n, "m": m}) == eval(python, {"n": n, "m": m, "min": min, "max": max})


@given(EXPRESSIONS, EXPRESSIONS, st.integers(0, 9), st.integers(0, 9))
def test_what_is_said_of_two_dims_holds_for_all_values(
    left: Expression, right: Expression, n: int, m: int
) -> None:
    values = {"n": n, "m": m}
    same = evaluate(left[0], values) == evaluate(right[0], values)

    match relate(left[0], right[0]):
        case Relation.EQUAL:
            assert same
        case Relation.DIFFERENT:
            assert not same
        case Relation.MAYBE:
            pass


@given(EXPRESSIONS, EXPRESSIONS)
def test_substituting_a_symbol_is_evaluating_with_its_value(
    dim: Expression, inner: Expression
) -> None:
    replaced = substitute(dim[0], {"n": inner[0]})

    for m in (0, 3):
        n = evaluate(inner[0], {"n": 2, "m": m})
        assert evaluate(replaced, {"n": 2, "m": m}) == evaluate(dim[0], {"n": n, "m": m})


@pytest.mark.parametrize("order", list(itertools.permutations([4 * N, N * M, 1 - M])))
def test_the_order_of_writing_does_not_count(order: tuple[Dim, ...]) -> None:
    total: Dim = 0
    for part in order:
        total = add(total, part)

    assert str_dim(total) == "m*n - m + 4*n + 1"


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (N * 4 + 1, "4*n + 1"),
        (1 + 4 * N, "4*n + 1"),
        (-N, "-n"),
        (N - N, "0"),
        (N * N - 2 * N - 3, "n*n - 2*n - 3"),
        (floordiv(N, 2) * 3, "3*floordiv(n, 2)"),
        (floordiv(4 * N, 2), "2*n"),
        (floordiv(4 * N + 2, 2), "2*n + 1"),
        (ceildiv(N + 1, 2), "ceildiv(n + 1, 2)"),
        (apply("mod", 6 * N, 3), "0"),
        (apply("min", N + 1, N), "n"),
        (apply("max", N + 1, N), "n + 1"),
        (apply("min", M, N), "min(m, n)"),
        (apply("min", N, M), "min(m, n)"),
        (UNKNOWN + N, "?"),
        (multiply(UNKNOWN, 0), "0"),
    ],
)
def test_a_dim_is_printed_in_its_one_form(dim: Dim, text: str) -> None:
    assert str_dim(dim) == text


def test_a_constant_polynomial_is_an_int() -> None:
    assert type(N + 3 - N) is int
    assert isinstance(N + 3, Poly)


def test_the_symbols_of_a_dim_include_those_in_functions() -> None:
    assert symbols(floordiv(N + M, symbol("k"))) == {"n", "m", "k"}
    assert symbols(3) == symbols(UNKNOWN) == frozenset()


def test_the_number_of_elements_is_the_product_of_the_dims() -> None:
    assert product(()) == 1
    assert product((2, N, 3)) == 6 * N
    assert product((UNKNOWN, 0)) == 0


def test_parity_tells_dims_apart_for_certain() -> None:
    assert relate(2 * N + 1, 2 * M) is Relation.DIFFERENT
    assert relate(N, M) is Relation.MAYBE
    assert relate(UNKNOWN, 3) is Relation.MAYBE


def test_sums_of_minima_and_maxima_are_told_equal() -> None:
    assert relate(apply("max", 0, N - 1) + apply("min", 1, N), N) is Relation.EQUAL
    assert relate(apply("max", N, M) + apply("min", N, M), N + M) is Relation.EQUAL
    assert relate(2 * apply("min", N, 3) + 2, 2 * apply("min", N + 1, 4)) is Relation.EQUAL
    assert relate(apply("max", N, 1), apply("min", N, 1)) is Relation.MAYBE


def test_division_by_zero_and_unknown_functions_are_errors() -> None:
    with pytest.raises(ZeroDivisionError):
        floordiv(N, 0)
    with pytest.raises(ValueError, match="expected one of floordiv"):
        apply("power", N, 2)


def test_a_dim_with_an_open_symbol_or_an_unknown_has_no_value() -> None:
    with pytest.raises(KeyError, match="m, n"):
        evaluate(N + M, {})
    with pytest.raises(ValueError, match="unknown"):
        evaluate(UNKNOWN, {})


def test_a_dim_within_the_limit_is_made_whatever_the_order_of_its_factors() -> None:
    first, second = (functools.reduce(add, symbols) for symbols in (_symbols("a"), _symbols("b")))
    factors = [floordiv(first, 2), floordiv(second, 3), N, M]

    made = {functools.reduce(multiply, order) for order in itertools.permutations(factors)}

    assert len(made) == 1
    assert UNKNOWN not in made


def _symbols(letter: str) -> list[Dim]:
    return [symbol(f"{letter}{number}") for number in range(20)]


def test_a_dim_that_grows_beyond_the_limit_is_unknown() -> None:
    grown: Dim = N + M + 1
    for _ in range(20):
        grown = multiply(grown, grown)

    assert grown is UNKNOWN
