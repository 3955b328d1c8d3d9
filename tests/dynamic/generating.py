"""From a seed to a random dynamic program."""

from __future__ import annotations

import random
from typing import Any, Final

import numpy as np

from tests.dynamic.control import LIST, Writer, attempted, loose_type, result_type
from tests.dynamic.drawing import Counter, Scope, to_numpy_name
from tests.dynamic.operators import FAULTS
from tests.dynamic.program import (
    Array,
    Cell,
    Definition,
    Program,
    Region,
    Statement,
    outcome,
)

ROLES: Final = ("host", "accel")
_SPECIAL: Final = (np.inf, -np.inf, np.nan, -0.0, 1e30)


def generate(seed: int) -> Program:
    """Return the program of a seed: always the same one."""
    rng = random.Random(seed)
    for _ in range(50):
        made = _program(seed, rng)
        if made is not None:
            return made
    raise AssertionError(f"seed {seed} makes no program")


def _program(seed: int, rng: random.Random) -> Program | None:
    names, known = Counter(), dict[str, Any]()
    params: list[tuple[str, str]] = []
    symbols: list[tuple[str, int, int]] = []
    roles = ROLES if rng.random() < 0.7 else ()
    scope = Scope(rng, names, known, roles)
    for place, value in enumerate(_arguments(rng)):
        name = f"%{names.fresh('x')}"
        type_, bound = loose_type(scope, value)
        params.append((name, type_))
        known[name] = value
        if type_.endswith("[...]"):
            scope.vague.add(name)
        for symbol, axis in bound:
            symbols.append((symbol, place, axis))
            known[symbol] = value.shape[axis]
    args = tuple(known[name] for name, _ in params)
    writer = Writer()
    writer.block(scope, rng.randint(4, 12), 0)
    if rng.random() < 0.15 and not _add_fault(scope):
        return None
    main = _main(scope, params, symbols)
    if main is None:
        return None
    return Program(seed, _text((*writer.definitions, main)), args, outcome(main, args))


def _arguments(rng: random.Random) -> list[Array]:
    sizes = [rng.choice((0, 1, 2, 3, 4, 5)), rng.choice((1, 2, 3)), rng.choice((2, 3, 4))]
    found = [
        _tensor(rng, "f32", (sizes[0], sizes[1])),
        _tensor(rng, "f32", (sizes[1],)),
        _tensor(rng, "i64", (sizes[2],)),
        np.array(rng.randrange(5), np.int64),
        np.array(rng.random() < 0.5),
    ]
    if rng.random() < 0.6:
        dtype = rng.choice(("f32", "f16", "f64", "i32", "i64", "bool"))
        found.append(
            _tensor(rng, dtype, tuple(rng.choice(sizes) for _ in range(rng.randint(0, 3))))
        )
    return found


def _tensor(rng: random.Random, dtype: str, shape: tuple[int, ...]) -> Array:
    count = int(np.prod(shape, dtype=int))
    if dtype == "bool":
        flat: list[Any] = [rng.random() < 0.5 for _ in range(count)]
    elif dtype.startswith("i"):
        flat = [rng.choice((-3, -1, 0, 0, 1, 2, 3, 5)) for _ in range(count)]
    else:
        flat = [rng.choice((0.0, 1.0, -1.0, 0.5, rng.gauss(0, 2))) for _ in range(count)]
        if rng.random() < 0.15:
            flat = [rng.choice(_SPECIAL) if rng.random() < 0.3 else v for v in flat]
    with np.errstate(over="ignore"):
        return np.array(flat, to_numpy_name(dtype)).reshape(shape)


def _add_fault(scope: Scope) -> bool:
    """End the program with a call whose data are at fault; ``False`` if none can be made."""
    scope.may_end = True
    for draw in scope.rng.sample(FAULTS, len(FAULTS)):
        attempted(scope, draw)
        if scope.end is not None:
            return True
    return False


def _main(
    scope: Scope, params: list[tuple[str, str]], symbols: list[tuple[str, int, int]]
) -> Definition | None:
    """Return the entry, which gives out some of what was made; ``None`` if there is little."""
    body = tuple(scope.statements)
    if scope.end is not None:
        name, type_ = scope.end
        return Definition("main", tuple(params), tuple(symbols), type_, Region(body, name))
    given = [s.name for s in body if _may_be_given(scope, s.name)]
    if not given:
        return None
    picked = scope.rng.sample(given, min(len(given), scope.rng.choice((1, 2, 3, 4))))
    chosen = [scope.ranked(n) if isinstance(scope.known[n], np.ndarray) else n for n in picked]
    body = tuple(scope.statements)
    result = "%result"
    text = f"{result} = ({', '.join(chosen)},)"
    value = tuple(scope.known[name] for name in chosen)
    last = Statement(result, (text,), lambda known: tuple(known[name] for name in chosen))
    region = Region((*body, last), result)
    return Definition("main", tuple(params), tuple(symbols), result_type(value), region)


def _may_be_given(scope: Scope, name: str) -> bool:
    value = scope.known[name]
    whole = name not in scope.vague and isinstance(value, tuple | Cell)
    return whole or isinstance(value, np.ndarray)


def _text(definitions: tuple[Definition, ...]) -> str:
    functions = [definition.text() for definition in definitions]
    return "\n".join(("module {", "  vdevice @host, @accel", LIST, *functions, "}"))
