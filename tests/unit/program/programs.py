"""Programs that tests save: between them they use every table, and devices of two kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, final

import numpy as np

import reference_vm as rv
from reference_vm.program.program import Program


@final
@dataclass(frozen=True)
class Example:
    """A program, and arguments of its entry ``main``."""

    text: str
    args: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def program(self) -> Program:
        """Return it compiled for the host and a simulated accelerator."""
        return rv.compile(rv.parse(self.text, "example.hir"), "accel=sim:0", **self.options)


_PLACED: Final = """module {
  vdevice @host, @accel
  fn @main(%a: f32[n, 4], %b: f32[4]) -> (f32[n, 4], f32[n]) {
    %s = add(%a, %b)      @host
    %k = const f32[100] splat 2.5
    %t = exp(%s)          @accel
    %u = sum(%t, axis = [1]) @accel
    %v = sum(%k) @accel
    %w = multiply(%u, %v) @accel
    %r = (%s, %w)
    return %r
  }
}
"""

_BRANCHES: Final = """module {
  fn @main(%x: f32[n], %p: bool[]) -> f32[n] bounds n in 1..512 {
    %y = if %p {
      %a = @twice(%x)
      yield %a
    } else {
      %b = negative(%x)
      yield %b
    }
    return %y
  }
  fn @twice(%x: f32[m]) -> f32[m] {
    %y = add(%x, %x)
    return %y
  }
}
"""

_SHAPES: Final = """module {
  fn @main(%x: f32[n, m]) -> (i64[2, ?], i64[2]) {
    %s = shape_of(%x)
    %t = shape_to_tensor(%s)
    %to = shape[n*m]
    %f = reshape(%x, %to)
    %g = reshape(%f, %t)
    %z = nonzero(%g)
    %c: i64[2, q] = match_cast(%z)
    %r = (%c, %t)
    return %r
  }
}
"""

_FUNCTIONS: Final = """module {
  type List[A] { Nil, Cons(A, List[A]) }
  fn @main(%x: f32[n], %y: f32[n], %p: bool[]) -> f32[n] attrs { entry = true } {
    %e: List[f32[n]] = Nil()
    %a = Cons(%x, %e)
    %b = Cons(%y, %a)
    %f = if %p {
      %g = @adder(%x)
      yield %g
    } else {
      %h = @adder(%y)
      yield %h
    }
    %z = const f32[] 0.0
    %s = multiply(%x, %z)
    %r = @summed(%b, %s, %f)
    return %r
  }
  fn @adder(%x: f32[n]) -> (f32[n]) -> f32[n] {
    %f = fn (%y: f32[n]) -> f32[n] {
      %z = add(%x, %y)
      return %z
    }
    return %f
  }
  fn @summed(%l: List[f32[n]], %s: f32[n], %f: (f32[n]) -> f32[n]) -> f32[n] {
    %r = match %l {
      Nil => { yield %s }
      Cons(%h, %t) => {
        %a = %f(%h)
        %b = add(%a, %s)
        %c = @summed(%t, %b, %f)
        yield %c
      }
    }
    return %r
  }
}
"""

_LOOPS: Final = """module {
  vdevice @host, @accel
  fn @main(%n: i64[], %x: f32[2]) -> f32[2] attrs { entry = true } {
    %zero = const i64[] 0
    %more = greater(%n, %zero)
    %r = if %more {
      %y = @odd(%n, %x)
      yield %y
    } else {
      %z = @last(%x)
      yield %z
    }
    return %r
  }
  fn @odd(%n: i64[], %x: f32[2]) -> f32[2] {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %y = add(%x, %x)
    %pair = (%m, %y)
    %r = match %pair {
      (%k, %z) => {
        %s = @main(%k, %z)
        yield %s
      }
    }
    return %r
  }
  fn @last(%x: f32[2]) -> f32[2] {
    %y = negative(%x)
    %n = const i64[] 0
    %r = @end(%n, %y)
    return %r
  }
  fn @end(%n: i64[], %x: f32[2]) -> f32[2] {
    %one = const i64[] 1
    %more = less(%n, %one)
    %r = if %more {
      %m = add(%n, %one)
      %y = @end(%m, %x)
      yield %y
    } else {
      yield %x
    }
    return %r
  }
}
"""
"""Branches that no arm reaches the end of, since each ends in a call in its place."""

EXAMPLES: Final[Mapping[str, Example]] = MappingProxyType(
    {
        "placed": Example(_PLACED, (np.arange(12, dtype="f4").reshape(3, 4), np.ones(4, "f4"))),
        "apart": Example(
            _PLACED,
            (np.ones((2, 4), "f4"), np.ones(4, "f4")),
            {"fuse": False, "plan_memory": False, "executor": "numpy"},
        ),
        "branches": Example(_BRANCHES, (np.arange(5, dtype="f4"), np.array(True))),
        "functions": Example(
            _FUNCTIONS, (np.arange(3, dtype="f4"), np.ones(3, "f4"), np.array(False))
        ),
        "loops": Example(_LOOPS, (np.array(3, "i8"), np.arange(2, dtype="f4"))),
        "shapes": Example(_SHAPES, (np.arange(6, dtype="f4").reshape(2, 3),)),
    }
)
