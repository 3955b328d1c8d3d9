"""Drawers of control flow: branches, functions, loops, closures, tuples, lists and ``match``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from reference_vm.diagnostics import DataError
from tests.dynamic.drawing import Nothing, Scope
from tests.dynamic.operators import DRAWERS, NUMBERS, Drawer
from tests.dynamic.program import (
    Array,
    Cell,
    Definition,
    Known,
    Region,
    Sizes,
    Statement,
    TooLarge,
    dtype_name,
)

LIST: Final = "  type List[T] { Nil, Cons(T, List[T]) }"
"""The data type that programs with lists declare."""

_TRIES: Final = 40
"""Drawers that are tried for one statement."""


@final
@dataclass
class Writer:
    """Writes the functions of one module."""

    definitions: list[Definition] = field(default_factory=list)
    deepest: int = 2
    """How far regions nest."""

    def block(self, scope: Scope, count: int, depth: int) -> None:
        """Add about so many statements."""
        drawers: dict[Drawer, int] = dict(DRAWERS)
        if depth < self.deepest:
            drawers.update({self._bound(draw, depth): n for draw, n in CONTROL.items()})
        for _ in range(count):
            self._one(scope, drawers)

    def _bound(self, draw: Callable[[Writer, Scope, int], object], depth: int) -> Drawer:
        return lambda scope: draw(self, scope, depth)

    def _one(self, scope: Scope, drawers: Mapping[Drawer, int]) -> None:
        for _ in range(_TRIES):
            (draw,) = scope.rng.choices(list(drawers), list(drawers.values()))
            if attempted(scope, draw):
                return

    def region(
        self,
        scope: Scope,
        depth: int,
        fits: Callable[[Any], bool],
        least: int = 0,
        ranked: bool = False,
    ) -> Region:
        """Return a region of its own whose result fits, and has a known rank if asked for.

        Raises:
            Nothing: None does.
        """
        inner = scope.inner()
        self.block(inner, scope.rng.randint(least, 3), depth + 1)
        own = [s.name for s in inner.statements if fits(inner.known[s.name])]
        result = scope.rng.choice(own[-3:]) if own else inner.pick(fits)
        if ranked:
            result = inner.ranked(result)
        return Region(tuple(inner.statements), result, result in inner.vague)

    def function(
        self,
        scope: Scope,
        letter: str,
        samples: Mapping[str, Any],
        depth: int,
        fits: Callable[[Any], bool],
    ) -> Definition:
        """Define a function that takes such values, and gives one that fits."""
        name = scope.names.fresh(letter)
        params, symbols, known, vague = [], [], dict[str, Any](), set[str]()
        for place, (param, value) in enumerate(samples.items()):
            type_, bound = loose_type(scope, value)
            params.append((param, type_))
            known[param] = value
            if type_.endswith("[...]"):
                vague.add(param)
            for symbol, axis in bound:
                symbols.append((symbol, place, axis))
                known[symbol] = value.shape[axis]
        inside = Scope(scope.rng, scope.names, known, scope.roles, vague=vague)
        body = self.region(inside, depth, fits, least=1, ranked=scope.rng.random() < 0.5)
        result = result_type(body.value(known), body.is_vague)
        made = Definition(name, tuple(params), tuple(symbols), result, body)
        self.definitions.append(made)
        return made


def attempted(scope: Scope, draw: Drawer) -> bool:
    """Draw; what does not work out leaves the scope as it was, and is ``False``."""
    before, known = len(scope.statements), dict(scope.known)
    try:
        draw(scope)
    except (Nothing, DataError, TooLarge):
        if scope.end is not None:
            return True
        del scope.statements[before:]
        scope.known.clear()
        scope.known.update(known)
        return False
    return True


# --- types ------------------------------------------------------------------------------------


def loose_type(scope: Scope, value: Any) -> tuple[str, list[tuple[str, int]]]:
    """Return a parameter's type that does not say all, and the symbols that it binds."""
    assert isinstance(value, np.ndarray)
    if value.ndim and scope.rng.random() < 0.1:
        return f"{dtype_name(value)}[...]", []
    dims: list[str] = []
    bound: list[tuple[str, int]] = []
    for axis in range(value.ndim):
        if scope.rng.random() < 0.5:
            symbol = scope.names.fresh("n")
            bound.append((symbol, axis))
            dims.append(symbol)
        else:
            dims.append("?")
    return f"{dtype_name(value)}[{', '.join(dims)}]", bound


def result_type(value: Any, vague: bool = False) -> str:
    """Return the type of a result, every dim unknown, and the rank if it is ``vague``."""
    if vague:
        return f"{dtype_name(value)}[...]"
    if isinstance(value, tuple):
        items = ", ".join(map(result_type, value))
        return f"({items},)" if len(value) == 1 else f"({items})"
    if isinstance(value, Cell):
        return f"List[{result_type(value.head)}]"
    return f"{dtype_name(value)}[{', '.join('?' * value.ndim)}]"


def alike(value: Any) -> Callable[[Any], bool]:
    """Return whether a value is a tensor of the dtype and rank of this one."""

    def fits(other: Any) -> bool:
        return (
            isinstance(other, np.ndarray)
            and other.dtype == value.dtype
            and other.ndim == value.ndim
        )

    return fits


def of_dtype(value: Any) -> Callable[[Any], bool]:
    """Return whether a value is a tensor of the dtype of this one."""
    return lambda other: isinstance(other, np.ndarray) and other.dtype == value.dtype


def is_tensor(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def is_list(value: Any) -> bool:
    return isinstance(value, Cell)


def indented(*lines: str) -> tuple[str, ...]:
    return tuple(f"  {line}" for line in lines)


# --- branches ---------------------------------------------------------------------------------


def condition(scope: Scope) -> str:
    """Return the name of a bool or integer without axes; made from a tensor if need be."""
    if scope.rng.random() < 0.5:
        return scope.tensor(("bool", "i64"), (0,))
    total = scope.call("sum", [scope.tensor(("f32", "i64"))])
    array: Array = scope.value(total)
    limit = scope.constant(np.array(2, array.dtype), dtype_name(array))
    return scope.call("greater", [total, limit])


def branch(writer: Writer, scope: Scope, depth: int) -> None:
    asked = scope.ranked(condition(scope))
    then = writer.region(scope, depth, is_tensor)
    sample: Array = _of(then, scope)
    any_rank = scope.rng.random() < 0.1
    orelse = writer.region(scope, depth, of_dtype(sample) if any_rank else alike(sample))
    name = f"%{scope.names.fresh('v')}"
    lines = (
        f"{name} = if {asked} {{",
        *then.lines("yield"),
        "} else {",
        *orelse.lines("yield"),
        "}",
    )

    def apply(known: Known) -> Any:
        return (then if known[asked].item() else orelse).value(known)

    scope.add(Statement(name, lines, apply))
    if then.is_vague or orelse.is_vague or _of(orelse, scope).ndim != sample.ndim:
        scope.vague.add(name)


def _of(region: Region, scope: Scope) -> Any:
    return region.value(scope.known)


# --- functions and loops ----------------------------------------------------------------------


def called(writer: Writer, scope: Scope, depth: int) -> None:
    """A call of a function: a new one, or one that another call made."""
    known = [d for d in writer.definitions if d.name[0] == "f"]
    if known and scope.rng.random() < 0.5:
        function = scope.rng.choice(known)
        args = [scope.tensor(fits=_takes(type_)) for _, type_ in function.params]
    else:
        args = [scope.tensor(ranks=(0, 1, 2)) for _ in range(scope.rng.choice((1, 2)))]
        samples = {f"%{scope.names.fresh('p')}": scope.value(a) for a in args}
        function = writer.function(scope, "f", samples, depth, is_tensor)
    _call(scope, function, args)


def _takes(type_: str) -> Callable[[Array], bool]:
    dtype, _, dims = type_.partition("[")
    rank = 0 if dims == "]" else dims.count(",") + 1

    def fits(value: Array) -> bool:
        return dtype_name(value) == dtype and (dims == "...]" or value.ndim == rank)

    return fits


def _call(scope: Scope, function: Definition, args: list[str]) -> str:
    name = f"%{scope.names.fresh('v')}"
    given = [
        arg if type_.endswith("[...]") else scope.ranked(arg)
        for arg, (_, type_) in zip(args, function.params, strict=True)
    ]
    text = f"{name} = @{function.name}({', '.join(given)})"
    value = function.value
    scope.add(Statement(name, (text,), lambda known: value([known[a] for a in given])))
    if function.result.endswith("[...]"):
        scope.vague.add(name)
    return name


def looped(writer: Writer, scope: Scope, depth: int) -> None:
    """A loop of a few rounds over one value that may grow: a call of itself in tail position."""
    start = scope.tensor(NUMBERS, (1, 2), lambda v: v.size < 40)
    i, n, x = (f"%{scope.names.fresh('p')}" for _ in range(3))
    sample: Array = scope.value(start)
    known: dict[str, Any] = {i: np.array(0, np.int64), n: np.array(1, np.int64), x: sample}
    inside = Scope(scope.rng, scope.names, known, scope.roles)
    body = writer.region(inside, depth, alike(sample), least=1, ranked=True)
    name = scope.names.fresh("loop")
    definition = _loop(name, (i, n, x), result_type(sample), body)
    rounds = scope.integers(scope.rng.choice((0, 1, 2, 4)), rank=0)
    zero = scope.integers(0, rank=0)
    writer.definitions.append(definition)
    _call(scope, definition, [zero, rounds, start])


def _loop(name: str, params: tuple[str, str, str], type_: str, body: Region) -> Definition:
    i, n, x = params
    goes, result, one, following, again = (f"%{name}.{s}" for s in ("c", "r", "one", "i", "x"))

    def apply(known: Known) -> Any:
        value = known[x]
        for number in range(int(known[i]), int(known[n])):
            value = body.value({i: np.array(number, np.int64), n: known[n], x: value})
        return value

    lines = (
        f"{goes} = less({i}, {n})",
        f"{result} = if {goes} {{",
        *(f"  {line}" for s in body.statements for line in s.lines),
        f"  {one} = const i64[] 1",
        f"  {following} = add({i}, {one})",
        f"  {again} = @{name}({following}, {n}, {body.result})",
        f"  yield {again}",
        f"}} else {{ yield {x} }}",
    )
    whole = Region((Statement(result, lines, apply),), result)
    typed = ((i, "i64[]"), (n, "i64[]"), (x, type_))
    return Definition(name, typed, (), type_, whole)


def closed(writer: Writer, scope: Scope, depth: int) -> None:
    """A closure that may read all that is in scope here, called once or twice."""
    arg = scope.tensor(ranks=(0, 1, 2))
    sample: Array = scope.value(arg)
    param, name = f"%{scope.names.fresh('p')}", f"%{scope.names.fresh('c')}"
    inner = scope.inner()
    inner.known[param] = sample
    inner.vague.discard(param)
    body = writer.region(inner, depth, is_tensor, least=1, ranked=scope.rng.random() < 0.5)
    result = result_type(body.value(inner.known), body.is_vague)
    lines = (
        f"{name} = fn({param}: {result_type(sample)}) -> {result} {{",
        *body.lines("return"),
        "}",
    )

    def apply(known: Known) -> Any:
        return lambda value: body.value({**known, param: value})

    scope.add(Statement(name, lines, apply))
    for _ in range(scope.rng.choice((1, 2))):
        made = _call_closure(scope, name, scope.ranked(scope.tensor(fits=alike(sample))))
        if body.is_vague:
            scope.vague.add(made)


def _call_closure(scope: Scope, closure: str, arg: str) -> str:
    name = f"%{scope.names.fresh('v')}"
    text = f"{name} = {closure}({arg})"
    return scope.add(Statement(name, (text,), lambda known: known[closure](known[arg])))


# --- tuples and lists -------------------------------------------------------------------------


def paired(writer: Writer, scope: Scope, depth: int) -> None:
    items = [scope.pick(is_tensor) for _ in range(2)]
    name = f"%{scope.names.fresh('t')}"
    text = f"{name} = ({', '.join(items)})"
    scope.add(Statement(name, (text,), lambda known: tuple(known[i] for i in items)), items)
    scope.item(name, scope.rng.randrange(2))


def listed(writer: Writer, scope: Scope, depth: int) -> None:
    """A list of a few tensors of one dtype and rank, or one more at the head of another list."""
    first = scope.tensor(ranks=(0, 1, 2))
    sample: Array = scope.value(first)
    of = f"List[{result_type(sample)}]"
    longer = lambda v: isinstance(v, Cell) and alike(v.head)(sample)  # noqa: E731 - one test
    try:
        tail = scope.pick(longer) if scope.rng.random() < 0.5 else _nil(scope, of)
    except Nothing:
        tail = _nil(scope, of)
    for head in [
        first,
        *(scope.tensor(fits=alike(sample)) for _ in range(scope.rng.choice((0, 1, 2)))),
    ]:
        tail = _cons(scope, scope.ranked(head), tail, of)


def _nil(scope: Scope, of: str) -> str:
    name = f"%{scope.names.fresh('l')}"
    return scope.add(Statement(name, (f"{name}: {of} = Nil()",), lambda _: None))


def _cons(scope: Scope, head: str, tail: str, of: str) -> str:
    name = f"%{scope.names.fresh('l')}"
    text = f"{name}: {of} = Cons({head}, {tail})"
    return scope.add(Statement(name, (text,), lambda known: Cell(known[head], known[tail])))


def matched(writer: Writer, scope: Scope, depth: int) -> None:
    """Something of the head of a list, or of the second item; something else of a short one."""
    whole = scope.pick(is_list)
    cell: Cell = scope.value(whole)
    head, rest = f"%{scope.names.fresh('h')}", f"%{scope.names.fresh('l')}"
    second = scope.rng.random() < 0.4
    taken = cell.tail if second else cell
    if taken is None:
        raise Nothing
    inner = scope.inner()
    inner.known.update({head: taken.head, rest: taken.tail})
    arm = writer.region(inner, depth, is_tensor)
    other = writer.region(scope, depth, alike(arm.value(inner.known)))
    name = f"%{scope.names.fresh('v')}"
    pattern = f"Cons(_, Cons({head}, {rest}))" if second else f"Cons({head}, {rest})"
    lines = (
        f"{name} = match {whole} {{",
        f"  {pattern} => {{",
        *indented(*arm.lines("yield")),
        "  }",
        "  _ => {",
        *indented(*other.lines("yield")),
        "  }",
        "}",
    )

    def apply(known: Known) -> Any:
        found = known[whole]
        part = found.tail if second and found is not None else found
        if part is None:
            return other.value(known)
        return arm.value({**known, head: part.head, rest: part.tail})

    scope.add(Statement(name, lines, apply))
    if arm.is_vague or other.is_vague:
        scope.vague.add(name)


def cast_to_symbols(writer: Writer, scope: Scope, depth: int) -> None:
    """A cast that names the sizes, and a tensor whose shape is made of the names."""
    x = scope.tensor(("f32", "i64"), (1, 2))
    array: Array = scope.value(x)
    symbols = [scope.names.fresh("n") for _ in range(array.ndim)]
    name = f"%{scope.names.fresh('v')}"
    text = f"{name}: {dtype_name(array)}[{', '.join(symbols)}] = match_cast({x})"
    bound = tuple((symbol, axis) for axis, symbol in enumerate(symbols))
    scope.add(Statement(name, (text,), lambda known: known[x], bound))
    shape, target = f"%{scope.names.fresh('s')}", scope.rng.choice(symbols)
    rest = "*".join(s for s in symbols if s != target) or "1"
    made = _shape(scope, shape, f"shape [{target}, {rest}]", (target, rest))
    if scope.rng.random() < 0.5 and array.size:
        scope.call("reshape", [name, made])
    else:
        scope.call("full", [made, scope.tensor(ranks=(0,))])


def _shape(scope: Scope, name: str, text: str, dims: tuple[str, str]) -> str:
    def apply(known: Known) -> Any:
        return Sizes(tuple(int(d) if d.isdigit() else known[d] for d in dims))

    return scope.add(Statement(name, (f"{name} = {text}",), apply))


CONTROL: Final[Mapping[Callable[[Writer, Scope, int], object], int]] = {
    branch: 8,
    called: 6,
    looped: 5,
    closed: 4,
    paired: 3,
    listed: 4,
    matched: 6,
    cast_to_symbols: 5,
}
"""How likely each is."""
