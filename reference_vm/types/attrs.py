"""Attributes: what is fixed about a call at compile time, such as ``axis = 1``.

Equal by content *and kind*: ``1``, ``1.0`` and ``true`` are three values, ``0.0`` and ``-0.0`` two,
and ``nan`` equals itself. Sorted by name, so the order of writing does not count.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final, TypeAlias, Union, final

from reference_vm.types.dim import Poly
from reference_vm.types.dtype import DType

AttrValue: TypeAlias = Union[bool, int, float, str, DType, Poly, tuple["AttrValue", ...], None]


def _key(value: AttrValue) -> Hashable:
    if isinstance(value, tuple):
        return ("tuple", tuple(map(_key, value)))
    if isinstance(value, float):
        return ("float", value.hex())
    return (type(value).__name__, value)


@final
class Attrs(Mapping[str, AttrValue]):
    """A frozen mapping from attribute names to values, sorted by name."""

    __slots__ = ("_hash", "_items", "_key")

    _key: tuple[Hashable, ...] | None
    """What equality goes by; made when it is first asked for, as is its hash."""

    def __init__(self, values: Mapping[str, AttrValue] | None = None, /, **more: AttrValue) -> None:
        self._items = dict(sorted({**(values or {}), **more}.items()))
        self._key = None
        self._hash: int | None = None

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attrs) and self._content() == other._content()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._content())
        return self._hash

    def _content(self) -> tuple[Hashable, ...]:
        if self._key is None:
            self._key = tuple((name, _key(value)) for name, value in self._items.items())
        return self._key

    def __repr__(self) -> str:
        return f"Attrs({self._items!r})"

    def with_(self, **values: AttrValue) -> Attrs:
        """Return these attributes with ``values`` added or replaced."""
        return Attrs({**self._items, **values})


NO_ATTRS: Final = Attrs()
