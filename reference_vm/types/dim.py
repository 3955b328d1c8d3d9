"""Dims: the sizes of a tensor's axes.

A dim is one of

* an ``int``: known when the program is compiled;
* a `Poly`: a polynomial over symbols, ``4*n + 1``, known when the function is called;
* `UNKNOWN`, printed ``?``: known only when the value has been computed.

Polynomials are canonical: ``n*4 + 1`` and ``1 + 4*n`` are one value, and one that turns out
constant is an ``int``. So ``==`` says whether two dims are *written* alike; use `relate` to ask
whether they are equal at run time. Division, ``mod``, ``min`` and ``max`` become opaque terms
where they cannot be worked out: ``floordiv(n, 2)``.

The usual operators work between dims and ints: ``(n + 1) * 4``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final, TypeAlias, Union, final

FUNCTIONS: Final = ("floordiv", "ceildiv", "mod", "min", "max")
"""The functions that may stand in a dim."""

DIVIDING: Final = ("floordiv", "ceildiv", "mod")
"""Those that fail if their right side is 0."""

SIZE_LIMIT: Final = 256
"""How many symbols, functions and terms a polynomial may have. One that grows beyond becomes
`UNKNOWN`: a few operators that square their operand would otherwise fill any memory."""


@final
class Unknown:
    """The dim that only a run can tell; there is one instance, `UNKNOWN`."""

    _instance: Unknown | None = None

    def __new__(cls) -> Unknown:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "?"

    def __reduce__(self) -> tuple[type[Unknown], tuple[()]]:
        return (Unknown, ())

    def __add__(self, other: Dim) -> Dim:
        return add(self, other)

    def __radd__(self, other: Dim) -> Dim:
        return add(other, self)

    def __sub__(self, other: Dim) -> Dim:
        return subtract(self, other)

    def __rsub__(self, other: Dim) -> Dim:
        return subtract(other, self)

    def __mul__(self, other: Dim) -> Dim:
        return multiply(self, other)

    def __rmul__(self, other: Dim) -> Dim:
        return multiply(other, self)

    def __neg__(self) -> Dim:
        return multiply(-1, self)


UNKNOWN: Final = Unknown()


@final
@dataclass(frozen=True, slots=True)
class Opaque:
    """A term that has no closed form: ``floordiv(n, 2)``."""

    function: str
    left: Dim
    right: Dim

    def __str__(self) -> str:
        return f"{self.function}({self.left}, {self.right})"


Atom: TypeAlias = Union[str, Opaque]
"""A symbol, by name, or an opaque term."""

Monomial: TypeAlias = tuple[Atom, ...]


def _monomial_key(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    return (-len(monomial), tuple(map(str, monomial)))


@final
@dataclass(frozen=True)
class Poly:
    """A polynomial over symbols with integer coefficients; never constant."""

    terms: tuple[tuple[Monomial, int], ...]
    """By falling degree, then by name; no coefficient is 0; the constant, ``()``, comes last."""

    def __str__(self) -> str:
        text = ""
        for monomial, coefficient in self.terms:
            factors = [str(a) for a in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            body = "*".join(factors)
            text = f"{text} {sign} {body}" if text else (f"-{body}" if coefficient < 0 else body)
        return text

    def __repr__(self) -> str:
        return str(self)

    @cached_property
    def size(self) -> int:
        """How many symbols, functions and terms there are, those inside functions included."""
        return sum(1 + sum(map(_atom_size, monomial)) for monomial, _ in self.terms)

    @cached_property
    def symbols(self) -> frozenset[str]:
        found: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, str):
                    found.add(atom)
                else:
                    found |= symbols(atom.left) | symbols(atom.right)
        return frozenset(found)

    def __add__(self, other: Dim) -> Dim:
        return add(self, other)

    def __radd__(self, other: Dim) -> Dim:
        return add(other, self)

    def __sub__(self, other: Dim) -> Dim:
        return subtract(self, other)

    def __rsub__(self, other: Dim) -> Dim:
        return subtract(other, self)

    def __mul__(self, other: Dim) -> Dim:
        return multiply(self, other)

    def __rmul__(self, other: Dim) -> Dim:
        return multiply(other, self)

    def __neg__(self) -> Dim:
        return multiply(-1, self)


Dim: TypeAlias = Union[int, Poly, Unknown]
Shape: TypeAlias = tuple[Dim, ...]


def symbol(name: str) -> Poly:
    """Return the dim that is the symbol ``name`` alone."""
    return Poly((((name,), 1),))


def _size(dim: Dim) -> int:
    return dim.size if isinstance(dim, Poly) else 1


def _atom_size(atom: Atom) -> int:
    return 1 if isinstance(atom, str) else 1 + _size(atom.left) + _size(atom.right)


def _bounded(poly: Poly) -> Dim:
    return poly if poly.size <= SIZE_LIMIT else UNKNOWN


def _terms(dim: int | Poly) -> dict[Monomial, int]:
    return ({(): dim} if dim else {}) if isinstance(dim, int) else dict(dim.terms)


def _canonical(terms: Mapping[Monomial, int]) -> Dim:
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if set(kept) == {()}:
        return kept[()]
    return _bounded(Poly(tuple(sorted(kept.items(), key=lambda term: _monomial_key(term[0])))))


def add(left: Dim, right: Dim) -> Dim:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    terms = _terms(left)
    for monomial, coefficient in _terms(right).items():
        terms[monomial] = terms.get(monomial, 0) + coefficient
    return _canonical(terms)


def multiply(left: Dim, right: Dim) -> Dim:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 0 or right == 0:
        return 0
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    left_terms, right_terms = _terms(left), _terms(right)
    if len(left_terms) * len(right_terms) > 4 * SIZE_LIMIT:
        return UNKNOWN
    terms: dict[Monomial, int] = {}
    for m1, c1 in left_terms.items():
        for m2, c2 in right_terms.items():
            monomial = tuple(sorted(m1 + m2, key=str))
            terms[monomial] = terms.get(monomial, 0) + c1 * c2
    return _canonical(terms)


def subtract(left: Dim, right: Dim) -> Dim:
    return add(left, multiply(-1, right))


def product(dims: Iterable[Dim]) -> Dim:
    """Return the number of elements of a tensor with these dims."""
    result: Dim = 1
    for dim in dims:
        result = multiply(result, dim)
    return result


def apply(function: str, left: Dim, right: Dim) -> Dim:
    """Return ``floordiv``, ``ceildiv``, ``mod``, ``min`` or ``max`` of two dims, simplified.

    Raises:
        ZeroDivisionError: The right dim of a division is 0.
    """
    if function not in FUNCTIONS:
        raise ValueError(f"found {function!r}, expected one of {', '.join(FUNCTIONS)}")
    if isinstance(left, int) and isinstance(right, int):
        return _apply_ints(function, left, right)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    if function in ("min", "max"):
        difference = subtract(left, right)
        if isinstance(difference, int):
            return left if (difference <= 0) == (function == "min") else right
        left, right = sorted((left, right), key=str)
    else:
        if right == 0:
            raise ZeroDivisionError(f"{function} of a dim by 0")
        divided = _divide_exactly(left, right)
        if divided is not None:
            return 0 if function == "mod" else divided
    return _bounded(Poly((((Opaque(function, left, right),), 1),)))


def _apply_ints(function: str, left: int, right: int) -> int:
    match function:
        case "floordiv":
            return left // right
        case "ceildiv":
            return -(-left // right)
        case "mod":
            return left % right
        case "min":
            return min(left, right)
        case _:
            return max(left, right)


def _divide_exactly(left: int | Poly, right: int | Poly) -> Dim | None:
    """Return ``left / right`` if the division certainly leaves no rest, else ``None``."""
    if left == right:
        return 1
    divisor = _terms(right)
    if len(divisor) != 1:
        return None
    ((monomial, coefficient),) = divisor.items()
    quotient: dict[Monomial, int] = {}
    for m, c in _terms(left).items():
        rest = list(m)
        for atom in monomial:
            if atom not in rest:
                return None
            rest.remove(atom)
        if c % coefficient:
            return None
        quotient[tuple(rest)] = c // coefficient
    return _canonical(quotient)


def floordiv(left: Dim, right: Dim) -> Dim:
    return apply("floordiv", left, right)


def ceildiv(left: Dim, right: Dim) -> Dim:
    return apply("ceildiv", left, right)


def symbols(dim: Dim) -> frozenset[str]:
    """Return the symbols that stand in ``dim``."""
    return dim.symbols if isinstance(dim, Poly) else frozenset()


def substitute(dim: Dim, values: Mapping[str, Dim]) -> Dim:
    """Return ``dim`` with each symbol of ``values`` replaced; other symbols stay.

    `UNKNOWN` where it comes to a division by 0: a run ends there, with an error.
    """
    if not isinstance(dim, Poly) or not (dim.symbols & values.keys()):
        return dim
    result: Dim = 0
    for monomial, coefficient in dim.terms:
        term: Dim = coefficient
        for atom in monomial:
            if isinstance(atom, str):
                term = multiply(term, values.get(atom, symbol(atom)))
            else:
                left, right = substitute(atom.left, values), substitute(atom.right, values)
                if right == 0 and atom.function in DIVIDING:
                    return UNKNOWN
                term = multiply(term, apply(atom.function, left, right))
        result = add(result, term)
    return result


def evaluate(dim: Dim, values: Mapping[str, int]) -> int:
    """Return the number that ``dim`` is when its symbols have these values.

    Raises:
        KeyError: A symbol has no value.
        ValueError: ``dim`` is unknown.
    """
    result = substitute(dim, values)
    if isinstance(result, Unknown):
        raise ValueError("an unknown dim has no value before the run")
    if isinstance(result, Poly):
        raise KeyError(", ".join(sorted(result.symbols)))
    return result


def _by_minima(dim: Dim) -> Dim:
    """Return ``dim`` in a form that sums of ``min`` and ``max`` share if they are equal.

    So ``max(0, n - 1) + min(1, n)`` becomes ``n``.
    """
    if not isinstance(dim, Poly) or not any(map(_is_extreme, (a for m, _ in dim.terms for a in m))):
        return dim
    result: Dim = 0
    for monomial, coefficient in dim.terms:
        result = add(result, multiply(coefficient, product(map(_minimum, monomial))))
    return result


def _is_extreme(atom: Atom) -> bool:
    return isinstance(atom, Opaque) and atom.function in ("min", "max")


def _minimum(atom: Atom) -> Dim:
    """Return an atom by minima, of two sides of which one has no number added and neither less."""
    if isinstance(atom, str):
        return symbol(atom)
    if not _is_extreme(atom):
        return Poly((((atom,), 1),))
    left, right = atom.left, atom.right
    shift = min(_constant(left), _constant(right))
    least = add(shift, apply("min", subtract(left, shift), subtract(right, shift)))
    return least if atom.function == "min" else subtract(add(left, right), least)


def _constant(dim: Dim) -> int:
    if isinstance(dim, int):
        return dim
    return dict(dim.terms).get((), 0) if isinstance(dim, Poly) else 0


class Relation(Enum):
    """What is known at compile time of two dims."""

    EQUAL = "equal"
    DIFFERENT = "different"
    MAYBE = "maybe"


def relate(left: Dim, right: Dim) -> Relation:
    """Say whether two dims are certainly equal, certainly different, or only a run can tell."""
    difference = _by_minima(subtract(left, right))
    if isinstance(difference, int):
        return Relation.EQUAL if difference == 0 else Relation.DIFFERENT
    if isinstance(difference, Poly):
        coefficients = [c for m, c in difference.terms if m]
        constant = dict(difference.terms).get((), 0)
        if constant % math.gcd(*coefficients):
            return Relation.DIFFERENT  # no integers solve it: 2*n + 1 == 2*m
    return Relation.MAYBE
