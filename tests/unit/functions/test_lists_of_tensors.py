"""Lists of tensors that are read, written, stacked and split: arrays of tensors of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_vm as rv

LISTS = """
module {
  vdevice @host, @accel
  type List[T] { Nil, Cons(T, List[T]) }
  fn @read(%l: List[DT[?]], %i: i64[]) -> DT[?] {
    %r = match %l {
      Cons(%head, %tail) => {
        %v = if %i {
          %one = const i64[] 1
          %j = subtract(%i, %one)
          %deeper = @read(%tail, %j)
          yield %deeper
        } else { yield %head }
        yield %v
      }
      Nil => { %none = const DT[0] [] yield %none }
    }
    return %r
  }
  fn @write(%l: List[DT[?]], %i: i64[], %x: DT[?]) -> List[DT[?]] {
    %r = match %l {
      Cons(%head, %tail) => {
        %v = if %i {
          %one = const i64[] 1
          %j = subtract(%i, %one)
          %rest = @write(%tail, %j, %x)
          %kept: List[DT[?]] = Cons(%head, %rest)
          yield %kept
        } else {
          %new: List[DT[?]] = Cons(%x, %tail)
          yield %new
        }
        yield %v
      }
      Nil => { yield %l }
    }
    return %r
  }
  fn @join(%l: List[DT[?]], %so_far: DT[?]) -> DT[?] {
    %r = match %l {
      Cons(%head, %tail) => {
        %longer = concat(%so_far, %head, axis = 0) @ROLE
        %all = @join(%tail, %longer)
        yield %all
      }
      Nil => { yield %so_far }
    }
    return %r
  }
  fn @stack(%l: List[DT[?]], %so_far: DT[?, ?]) -> DT[?, ?] {
    %r = match %l {
      Cons(%head, %tail) => {
        %row = expand_dims(%head, axes = [0])
        %more = concat(%so_far, %row, axis = 0) @ROLE
        %all = @stack(%tail, %more)
        yield %all
      }
      Nil => { yield %so_far }
    }
    return %r
  }
  fn @unstack(%x: DT[?, ?], %i: i64[], %so_far: List[DT[?]]) -> List[DT[?]] {
    %r = if %i {
      %one = const i64[] 1
      %j = subtract(%i, %one)
      %row = take(%x, %j, axis = 0) @ROLE
      %more: List[DT[?]] = Cons(%row, %so_far)
      %all = @unstack(%x, %j, %more)
      yield %all
    } else { yield %so_far }
    return %r
  }
  fn @main(%x: DT[n, ?], %first: DT[?], %second: DT[?]) -> (DT[?], DT[?], DT[?, ?])
      attrs { entry = true } {
    %dims = shape_of(%x, end = 1)
    %sizes = shape_to_tensor(%dims)
    %count = squeeze(%sizes, axes = [0])
    %nil: List[DT[?]] = Nil()
    %rows = @unstack(%x, %count, %nil)
    %zero = const i64[] 0
    %one = const i64[] 1
    %changed = @write(%rows, %zero, %first)
    %both = @write(%changed, %one, %second)
    %read = @read(%both, %one)
    %nothing = const DT[0] []
    %joined = @join(%both, %nothing)
    %start = slice_none(%x)
    %again = @stack(%rows, %start)
    %r = (%read, %joined, %again)
    return %r
  }
}
"""


def session(dtype: str, role: str) -> rv.Session:
    empty = (
        "%from = const i64[1] [0]\n    %to = const i64[1] [0]\n    %start = slice(%x, %from, %to)"
    )
    text = LISTS.replace("%start = slice_none(%x)", empty).replace("DT", dtype)
    module = rv.parse(text.replace("@ROLE", f"@{role}"))
    return rv.Session(rv.compile(module, "host=cpu:0,accel=sim:0", check=True))


@pytest.mark.parametrize("role", ["host", "accel"])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_a_list_of_tensors_is_an_array_of_tensors(dtype: str, role: str) -> None:
    made = session(dtype, role)
    numpy_dtype: Any = {"f32": np.float32, "i32": np.int32}[dtype]
    for rows, width in ((3, 2), (2, 4), (5, 1)):
        x = np.arange(rows * width, dtype=numpy_dtype).reshape(rows, width)
        first, second = numpy_dtype([7]), numpy_dtype([8, 9, 10])

        read, joined, again = made.run("main", x, first, second)

        np.testing.assert_array_equal(read, second)
        np.testing.assert_array_equal(joined, np.concatenate([first, second, *x[2:]]))
        np.testing.assert_array_equal(again, x)
        assert read.dtype == numpy_dtype
    assert {m.current for m in made.memory().values()} <= {0, *_constants(made)}


def _constants(made: rv.Session) -> set[int]:
    """Return the bytes that loading took, on each device."""
    taken: dict[str, int] = {}
    for record in made.load_trace:
        for access in record.writes if record.kind == "alloc" else ():
            taken[access.device] = taken.get(access.device, 0) + access.length
    return set(taken.values())
