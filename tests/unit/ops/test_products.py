"""Shared products are those of NumPy, and sharing leaves the BLAS as it was."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from reference_vm.ops import products, sharing
from reference_vm.ops.products import product

SHAPES = (
    ((40, 30), (30, 50)),
    ((30,), (30, 5)),
    ((4, 30), (30,)),
    ((3, 7, 30), (30, 20)),
    ((3, 7, 30), (3, 30, 20)),
    ((1, 5, 7, 30), (1, 5, 30, 2)),
    ((1, 1, 300, 9), (1, 1, 9, 8)),
    ((8, 9), (9, 300)),
    ((2, 1, 4, 3), (5, 3, 6)),
)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share even the smallest product, over three threads."""
    monkeypatch.setattr(sharing, "WORTH", 1)
    for module in (products, sharing):
        monkeypatch.setattr(module, "threads", lambda: 3)


def blas_threads() -> int:
    blas = sharing._blas()
    return 0 if blas is None else blas.get()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_a_shared_product_is_that_of_numpy(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: str
) -> None:
    random = np.random.default_rng(0)
    x, y = (random.integers(-9, 9, shape).astype(dtype) for shape in shapes)

    found = product(np, x, y)

    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, np.matmul(x, y))


@pytest.mark.parametrize("worth", [1, 1 << 30])
@pytest.mark.parametrize("shapes", [*SHAPES, ((30,), (30,))], ids=str)
def test_a_product_is_written_where_it_is_to_be(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    worth: int,
    eager: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sharing, "WORTH", worth)
    random = np.random.default_rng(0)
    x, y = (random.integers(-9, 9, shape).astype("f4") for shape in shapes)
    expected = np.asarray(np.matmul(x, y))
    out = np.full_like(expected, np.nan)

    assert product(np, x, y, out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("turn", [True, False])
def test_operands_may_lie_in_any_order(turn: bool) -> None:
    random = np.random.default_rng(0)
    x = random.integers(-9, 9, (6, 20, 4)).astype("f4").transpose(2, 0, 1)
    y = random.integers(-9, 9, (40, 20)).astype("f4").T[:, :: -1 if turn else 1]

    np.testing.assert_array_equal(product(np, x, y), np.matmul(x, y))


@pytest.mark.usefixtures("eager")
def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="mismatch"):
        product(np, np.zeros((4, 3)), np.zeros((4, 3)))


def test_the_blas_has_one_thread_inside_and_its_own_number_after() -> None:
    before = blas_threads()

    with sharing.ALONE:
        assert blas_threads() in (0, 1)
        with sharing.ALONE:
            pass
        assert blas_threads() in (0, 1)

    assert blas_threads() == before


def test_every_item_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "threads", lambda: 2)
    taken: list[int] = []

    sharing.share(range(100), taken.extend)

    assert sorted(taken) == list(range(100))


def test_a_fault_of_any_thread_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "threads", lambda: 2)
    before = blas_threads()

    def work(items: Iterator[int]) -> None:
        for item in items:
            if item == 50:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sharing.share(range(100), work)
    assert blas_threads() == before


def test_helpers_keep_the_error_state_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "threads", lambda: 2)

    def work(items: Iterator[int]) -> None:
        for _ in items:
            np.divide(np.ones(3), np.zeros(3))

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        sharing.share(range(100), work)


def test_several_callers_share_at_once() -> None:
    x = np.ones((300, 300), "f4")
    before = blas_threads()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: product(np, x, x)[0, 0], range(40)))

    assert found == [300.0] * 40
    assert blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "threads", lambda: 2)
    before: list[int] = []
    sharing.share(range(100), before.extend)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        taken: list[int] = []
        sharing.share(range(100), taken.extend)
        os._exit(0 if len(taken) == 100 else 1)

    assert os.waitpid(child, 0)[1] == 0
