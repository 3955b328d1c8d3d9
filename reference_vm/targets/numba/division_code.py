"""Divisions of integers, and their rests, as machine code.

Quotients are rounded towards 0 or down; the rest goes with either. The least integer is never
divided by -1 in hardware: it is its own negative. Where a divisor is 0, the result is 0, and that
is noted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words


@final
@dataclass(frozen=True, slots=True)
class DivisionForm:
    """What is compiled for."""

    bytes: int
    """Of an element."""

    signed: bool
    down: bool
    """Whether quotients are rounded down, and not towards 0."""

    rest: bool
    """Whether the result is what is left over."""

    axes: int
    addresses: int
    left: int
    """Which address the dividends have, then which the divisors and the results have."""

    right: int
    result: int

    @property
    def words(self) -> Words:
        steps = [f"{kind}{a}" for a in range(self.axes) for kind in ("dim", "left", "right", "to")]
        return Words(self.addresses, ("fault", *steps))


def print_division(form: DivisionForm) -> str:
    """Return the kernel; its range counts places along the first axis."""
    out, words = Assembly(), form.words
    kind = f"i{8 * form.bytes}"
    with out.kernel():
        read = {name: words.read(out, name) for name in words.names if name != "fault"}

        def nested(axis: int, places: tuple[Value, ...]) -> None:
            if axis == form.axes:
                _element(form, out, kind, places)
                return
            low, high = ("%low", "%high") if axis == 0 else ("0", read[f"dim{axis}"])
            out.each(low, high, "1", lambda i: nested(axis + 1, moved(axis, i, places)))

        def moved(axis: int, index: Value, places: tuple[Value, ...]) -> tuple[Value, ...]:
            steps = (read[f"{name}{axis}"] for name in ("left", "right", "to"))
            pairs = zip(places, steps, strict=True)
            return tuple(out.at(p, kind, out.mul(index, step)) for p, step in pairs)

        nested(0, tuple(out.word(a, "ptr") for a in (form.left, form.right, form.result)))
    return out.text


def _element(form: DivisionForm, out: Assembly, kind: str, places: tuple[Value, ...]) -> None:
    x, y = (out.load(kind, p, form.bytes) for p in places[:2])
    zero = out.step(f"icmp eq {kind} {y}, 0")
    fault = out.at("%block", "i64", str(form.words.position("fault")))
    out.choose(zero, lambda: out.store("i64", "1", fault))
    value = (
        _signed(form, out, kind, x, y, zero) if form.signed else _plain(out, kind, x, y, zero, form)
    )
    found = out.step(f"select i1 {zero}, {kind} 0, {kind} {value}")
    out.store(kind, found, places[2], form.bytes)


def _plain(out: Assembly, kind: str, x: Value, y: Value, zero: Value, form: DivisionForm) -> Value:
    safe = out.step(f"select i1 {zero}, {kind} 1, {kind} {y}")
    return out.step(f"{'urem' if form.rest else 'udiv'} {kind} {x}, {safe}")


def _signed(form: DivisionForm, out: Assembly, kind: str, x: Value, y: Value, zero: Value) -> Value:
    minus = out.step(f"icmp eq {kind} {y}, -1")
    either = out.step(f"or i1 {zero}, {minus}")
    safe = out.step(f"select i1 {either}, {kind} 1, {kind} {y}")
    quotient = out.step(f"sdiv {kind} {x}, {safe}")
    rest = out.step(f"sub {kind} {x}, {out.step(f'mul {kind} {quotient}, {safe}')}")
    if form.down:
        lower = _is_lower(out, kind, rest, y)
        one = out.step(f"zext i1 {lower} to {kind}")
        quotient = out.step(f"sub {kind} {quotient}, {one}")
        more = out.step(f"select i1 {lower}, {kind} {y}, {kind} 0")
        rest = out.step(f"add {kind} {rest}, {more}")
    if form.rest:
        return rest
    negative = out.step(f"sub {kind} 0, {x}")
    return out.step(f"select i1 {minus}, {kind} {negative}, {kind} {quotient}")


def _is_lower(out: Assembly, kind: str, rest: Value, y: Value) -> Value:
    """Return whether rounding down gives one less than rounding towards 0."""
    some = out.step(f"icmp ne {kind} {rest}, 0")
    apart = out.step(f"icmp slt {kind} {out.step(f'xor {kind} {rest}, {y}')}, 0")
    return out.both(some, apart)


__all__ = ["DivisionForm", "print_division"]
