"""Programs of functions, and every way to compile them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

import reference_vm as rv
from tests.unit.session.in_use import in_use

MAPS: Final = ("host=cpu:0,accel=cpu:0", "host=cpu:0,accel=sim:0", "host=sim:1,accel=sim:0")

WAYS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "planned": {},
        "unplanned": {"plan_memory": False},
        "plain": {"plan_memory": False, "fuse": False},
    }
)

LISTS: Final = "type List[T] { Nil, Cons(T, List[T]) }"

LENGTH: Final = """
fn @length(%l: List[f32[2]], %n: i64[]) -> i64[] {
  %one = const i64[] 1
  %r = match %l {
    Nil => { yield %n }
    Cons(_, %t) => { %m = add(%n, %one) %q = @length(%t, %m) yield %q }
  }
  return %r
}
"""

COUNTDOWN: Final = """
fn @countdown(%i: i64[], %acc: f32[4]) -> f32[4] {
  %zero = const i64[] 0
  %one = const i64[] 1
  %b = const f32[4] splat 1.0
  %c = greater(%i, %zero)
  %r = if %c {
    %j = subtract(%i, %one)
    %a = add(%acc, %b) @accel
    %q = @countdown(%j, %a)
    yield %q
  } else { yield %acc }
  return %r
}
"""


def program(*declarations: str) -> str:
    """Return a module with the roles ``@host`` and ``@accel``."""
    return "module { vdevice @host, @accel\n" + "\n".join(declarations) + "\n}"


def sessions(text: str) -> Iterator[tuple[str, rv.Session]]:
    """Yield a checked session for every device map, every way to compile and both executors."""
    module = rv.parse(text)
    for devices in MAPS:
        for name, options in WAYS.items():
            compiled = rv.compile(module, devices, check=True, **options)
            for interpreter in (True, False):
                executor = "interpreted" if interpreter else "native"
                session = rv.Session(compiled, checked=True, interpreter=interpreter)
                yield f"{devices} {name} {executor}", session


def run_everywhere(text: str, *args: Any, entry: str = "main") -> Iterator[tuple[str, Any]]:
    """Yield the result of each session, which must give all memory back, twice in a row."""
    for name, session in sessions(text):
        before = in_use(session)
        first = session.run(entry, *args)
        again = session.run(entry, *args)
        assert in_use(session) == before, name
        np.testing.assert_equal(again, first, err_msg=name)
        yield name, first
