"""Frozen dataclasses as JSON's lists and scalars, and back, by looking at their fields.

A dataclass is the list of its fields' values, in the order of the fields; where a field may hold
one of several dataclasses, the name of the one it holds comes first::

    Copy(target=Target(4, F32, (n, 4)), source=2, …)
    ["Copy", [4, "f32", [[[1, "n"]], 4], …], 2, …]

Which classes have which fields is written beside the values (`Codec.layout`), and a reader refuses
what it does not know, by name. So a new instruction needs no code here: it is a dataclass in a
union that is reached from the root.

Nothing is ever made but what a field's type allows, every integer fits 64 bits, and dims are in the
one form that `types.dim` gives them.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias, Union, final, get_args, get_origin, get_type_hints

from reference_vm.bytecode.symbols import is_symbol
from reference_vm.types import DTYPES, UNKNOWN, DeviceName, DType, Poly, Unknown
from reference_vm.types.dim import FUNCTIONS, Dim, Opaque, add, apply, multiply, symbol

Encode: TypeAlias = Callable[[Any], Any]
Decode: TypeAlias = Callable[[Any], Any]


class FormatError(Exception):
    """A tree is not what its reader expects; `at` says where in it, from the inside out."""

    def __init__(self, found: object, expected: str, *path: str | int) -> None:
        super().__init__(f"found {shown(found)}, expected {expected}")
        self.path = list(reversed(path))

    def at(self, part: str | int) -> FormatError:
        """Return this error, after noting which part of a larger tree it is about."""
        self.path.append(part)
        return self

    def __str__(self) -> str:
        parts = [f"[{p}]" if isinstance(p, int) else f".{p}" for p in reversed(self.path)]
        where = "".join(parts).removeprefix(".")
        return f"{where}: {self.args[0]}" if where else str(self.args[0])


def shown(value: object) -> str:
    """Return what a message shows of a value, however large it is."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)} keys"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


@final
@dataclass(frozen=True, slots=True)
class Form:
    """How values of one type are written and read."""

    encode: Encode
    decode: Decode
    written: type = list
    """What JSON has for it."""


@final
@dataclass
class Codec:
    """Writes and reads values of the types that are reached from a root."""

    special: Mapping[type, Form] = field(default_factory=dict)
    """Types that have a form of their own."""

    _forms: dict[Any, Form] = field(default_factory=dict)
    _layout: dict[str, list[str]] = field(default_factory=dict)

    def form(self, hint: Any) -> Form:
        """Return how values of a type are written: a dataclass, or what stands at its fields."""
        found = self._forms.get(hint)
        if found is None:
            found = self._forms[hint] = self._made(hint)
        return found

    @property
    def layout(self) -> Mapping[str, list[str]]:
        """The fields of each dataclass that was reached, by name."""
        return self._layout

    def _made(self, hint: Any) -> Form:
        known = self.special.get(hint) or _SCALARS.get(hint)
        if known is not None:
            return known
        origin = get_origin(hint)
        if origin in (Union, types.UnionType):
            return self._union(get_args(hint))
        if origin is tuple:
            return self._tuple(get_args(hint))
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return self._mapping(get_args(hint)[1])
        assert is_dataclass(hint), f"{hint} has no form"
        return self._record(hint)

    def _record(self, cls: Any) -> Form:
        hints = get_type_hints(cls)
        names = [f.name for f in fields(cls) if f.init]
        self._layout[cls.__name__] = names
        read: list[Decode] = []  # filled at the end: a field may hold the class itself
        write: list[tuple[str, Encode]] = []

        def encode(value: Any) -> list[Any]:
            return [part(getattr(value, name)) for name, part in write]

        def decode(tree: Any) -> Any:
            if type(tree) is not list or len(tree) != len(names):
                raise FormatError(tree, f"{cls.__name__} of {len(names)} fields")
            return cls(*_each(read, tree, names))

        form = self._forms[cls] = Form(encode, decode)
        for name in names:
            part = self.form(hints[name])
            read.append(part.decode)
            write.append((name, part.encode))
        return form

    def _union(self, members: tuple[Any, ...]) -> Form:
        records = [m for m in members if is_dataclass(m) and m not in self._known]
        named: dict[str, Any] = {m.__name__: m for m in records if isinstance(m, type)}
        others = [m for m in members if m not in named.values()]
        forms = {name: self.form(cls) for name, cls in named.items()}
        plain = [(m, self.form(m)) for m in others]
        expected = " or ".join([*named, *map(_word, others)])

        def encode(value: Any) -> Any:
            name = type(value).__name__
            if name in forms:
                return [name, forms[name].encode(value)]
            return next(form for member, form in plain if _is_of(value, member)).encode(value)

        def decode(tree: Any) -> Any:
            if type(tree) is list and len(tree) == 2 and type(tree[0]) is str:
                form = forms.get(tree[0])
                if form is not None:
                    return form.decode(tree[1])
            for _, form in plain:
                if type(tree) is form.written:
                    return form.decode(tree)
            raise FormatError(tree[0] if type(tree) is list and tree else tree, expected)

        return Form(encode, decode)

    @property
    def _known(self) -> Collection[Any]:
        return (*self.special, *_SCALARS)

    def _tuple(self, items: tuple[Any, ...]) -> Form:
        if len(items) == 2 and items[1] is Ellipsis:
            return _sequence(self.form(items[0]))
        forms = [self.form(i) for i in items]
        read, places = [f.decode for f in forms], range(len(forms))

        def encode(values: Any) -> list[Any]:
            return [f.encode(v) for f, v in zip(forms, values, strict=True)]

        def decode(tree: Any) -> Any:
            if type(tree) is not list or len(tree) != len(forms):
                raise FormatError(tree, f"a list of {len(forms)}")
            return tuple(_each(read, tree, places))

        return Form(encode, decode)

    def _mapping(self, value: Any) -> Form:
        form = self.form(value)

        def decode(tree: Any) -> Any:
            if type(tree) is not dict:
                raise FormatError(tree, "an object")
            return dict(
                zip(tree, _each([form.decode] * len(tree), tree.values(), tree), strict=True)
            )

        return Form(lambda values: {k: form.encode(v) for k, v in values.items()}, decode, dict)


def _sequence(item: Form) -> Form:
    write, read = item.encode, item.decode

    def decode(tree: Any) -> Any:
        if type(tree) is not list:
            raise FormatError(tree, "a list")
        made: list[Any] = []
        try:
            for part in tree:
                made.append(read(part))
        except FormatError as error:
            raise error.at(len(made)) from None
        return tuple(made)

    return Form(lambda values: [write(v) for v in values], decode)


def _each(read: Sequence[Decode], trees: Iterable[Any], places: Iterable[str | int]) -> list[Any]:
    """Return each tree read in its own way; an error says at which place it is."""
    made: list[Any] = []
    try:
        for decode, tree in zip(read, trees, strict=True):
            made.append(decode(tree))
    except FormatError as error:
        raise error.at(list(places)[len(made)]) from None
    return made


_SHOWN: Final = 60
_INT64: Final = 1 << 63


def _is_of(value: Any, member: Any) -> bool:
    origin = get_origin(member)
    if member is None or member is types.NoneType:
        return value is None
    if origin is tuple:
        return isinstance(value, tuple)
    return type(value) is member


def _word(member: Any) -> str:
    return "null" if member is types.NoneType else getattr(member, "__name__", str(member))


def _scalar(kind: type, word: str) -> Form:
    def decode(tree: Any) -> Any:
        if type(tree) is not kind:
            raise FormatError(tree, word)
        return tree

    return Form(lambda value: value, decode, kind)


def _integer(tree: Any) -> int:
    if type(tree) is not int or not -_INT64 <= tree < _INT64:
        raise FormatError(tree, "an integer of 64 bits")
    return tree


def _dtype(tree: Any) -> DType:
    found = DTYPES.get(tree) if type(tree) is str else None
    if found is None:
        raise FormatError(tree, "a dtype such as f32")
    return found


def _device(tree: Any) -> DeviceName:
    try:
        found = DeviceName.parse(tree) if type(tree) is str else None
    except ValueError:
        found = None
    if found is None or str(found) != tree:
        raise FormatError(tree, "a device such as cpu:0")
    return found


def _unknown(tree: Any) -> Unknown:
    if tree != "?":
        raise FormatError(tree, '"?"')
    return UNKNOWN


def _encode_poly(poly: Poly) -> list[Any]:
    return [[c, *map(_encode_atom, monomial)] for monomial, c in poly.terms]


def _encode_atom(atom: str | Opaque) -> Any:
    if isinstance(atom, str):
        return atom
    return [atom.function, _encode_dim(atom.left), _encode_dim(atom.right)]


def _encode_dim(dim: Dim) -> Any:
    if isinstance(dim, Poly):
        return _encode_poly(dim)
    return dim if isinstance(dim, int) else "?"


def _poly(tree: Any) -> Poly:
    if type(tree) is not list:
        raise FormatError(tree, _ONE_FORM)
    return _known_poly(json.dumps(tree))


_ONE_FORM: Final = "a polynomial in its one form"


@lru_cache(maxsize=4096)
def _known_poly(text: str) -> Poly:
    tree: list[Any] = json.loads(text)
    total: Dim = 0
    for term in tree:
        if type(term) is not list or not term:
            raise FormatError(term, "a coefficient and factors")
        product: Dim = _integer(term[0])
        for atom in term[1:]:
            product = multiply(product, _atom(atom))
        total = add(total, product)
    if not isinstance(total, Poly) or _encode_poly(total) != tree:
        raise FormatError(tree, _ONE_FORM)
    return total


def _atom(tree: Any) -> Dim:
    if type(tree) is str and is_symbol(tree):
        return symbol(tree)
    if type(tree) is not list or len(tree) != 3 or tree[0] not in FUNCTIONS:
        raise FormatError(tree, f"a symbol, or {', '.join(FUNCTIONS)} of two dims")
    left, right = (_integer(t) if type(t) is int else _poly(t) for t in tree[1:])
    try:
        return apply(tree[0], left, right)
    except ZeroDivisionError:
        raise FormatError(tree, "a divisor that is not 0") from None


_SCALARS: Final[Mapping[Any, Form]] = {
    int: Form(lambda value: value, _integer, int),
    bool: _scalar(bool, "true or false"),
    str: _scalar(str, "a string"),
    types.NoneType: _scalar(types.NoneType, "null"),
    DType: Form(lambda dtype: dtype.name, _dtype, str),
    DeviceName: Form(str, _device, str),
    Poly: Form(_encode_poly, _poly),
    Unknown: Form(lambda _: "?", _unknown, str),
}
"""The types that have a form without looking at their fields."""
