"""Depth and length need no more of Python's stack, and too much depth is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from reference_vm.ir import structural, verify
from reference_vm.text import parse, print_module
from tests.unit.text.programs import body, module, problems

LIMIT = 1000


@contextmanager
def little_stack(frames: int = 120) -> Iterator[None]:
    """Leave so many frames of Python's stack to what runs inside."""
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def nested_ifs(depth: int) -> str:
    opening = "".join(f"%v{i} = if %x {{ " for i in range(depth))
    closing = "".join(
        f"yield {'%x' if i == depth - 1 else f'%v{i + 1}'} }} else {{ yield %x }} "
        for i in reversed(range(depth))
    )
    return body(opening + closing, "%v0")


def nested_closures(depth: int) -> str:
    opening = "".join(f"%v{i} = fn() -> f32[...] {{ " for i in range(depth))
    closing = "".join(f"%w{i} = %x return %w{i} }} " for i in range(depth))
    return body(opening + closing)


def nested_pattern(depth: int) -> str:
    pattern = "S(" * depth + "%p" + ")" * depth
    return module(
        f"fn @f(%x: Nat) -> Nat {{ %v = match %x {{ {pattern} => {{ yield %x }}"
        " _ => { yield %x } } return %v }",
        "type Nat { Z, S(Nat) }",
    )


@pytest.mark.parametrize("program", [nested_ifs, nested_closures, nested_pattern])
def test_a_thousand_deep_parses_prints_verifies_and_compares(program: object) -> None:
    text = program(LIMIT - 1)  # type: ignore[operator]
    with little_stack():
        parsed = parse(text)
        printed = print_module(parsed)
        again = parse(printed)
        found = verify.check(parsed)
        same = structural.equal(parsed, again)
        digests = {structural.digest(parsed), structural.digest(again)}

    assert found == []
    assert same
    assert len(digests) == 1


def one_diagnostic(text: str) -> str:
    with little_stack():
        found = problems(text)
    assert len(found) == 1
    assert found[0].span is not None
    return found[0].code


@pytest.mark.parametrize("depth", [LIMIT + 1, 20_000])
@pytest.mark.parametrize("program", [nested_ifs, nested_closures, nested_pattern])
def test_deeper_is_refused(program: object, depth: int) -> None:
    assert one_diagnostic(program(depth)) == "nesting-too-deep"  # type: ignore[operator]


def deep_type(depth: int) -> str:
    return module(f"fn @f(%x: {'(' * depth}f32[]{',)' * depth}) -> f32[] {{ return %x }}")


@pytest.mark.parametrize(
    "text",
    [
        deep_type(100),
        deep_type(50_000),
        module(f"fn @f(%x: {'List[' * 5000}"),
        module(f"fn @f(%x: {'() -> ' * 5000}f32[]) -> f32[] {{ return %x }}"),
        body(f"%v: f32[{'(' * 5000}n] = exp(%x)"),
        body(f"%v: f32[{'min(n, ' * 5000}n] = exp(%x)"),
        body(f"%v = op(%x, a = {'[' * 5000}"),
    ],
)
def test_deep_types_dims_and_lists_are_refused(text: str) -> None:
    assert problems(text)[0].code == "nesting-too-deep"


@pytest.mark.parametrize("text", [deep_type(99), body(f"%v: f32[{'-' * 50_001}n + n] = exp(%x)")])
def test_types_of_a_hundred_levels_and_long_signs_are_not(text: str) -> None:
    parsed = parse(text)

    assert structural.equal(parse(print_module(parsed)), parsed)


def test_a_long_block_is_as_flat_as_a_short_one() -> None:
    lines = "\n".join(f"%v{i} = exp(%{f'v{i - 1}' if i else 'x'})" for i in range(5000))
    text = body(lines, "%v4999")
    with little_stack():
        parsed = parse(text)
        found = verify.check(parsed)
        printed = print_module(parsed)

    assert found == []
    assert printed.count("exp") == 5000


def test_long_chains_of_one_dim_end_in_a_dim_or_a_diagnostic() -> None:
    assert problems(body(f"%v: f32[{' + '.join(['n'] * 20_000)}] = exp(%x)")) == []
    many = " + ".join(f"n{i}" for i in range(2000))
    assert "invalid-dim" in {d.code for d in problems(body(f"%v: f32[{many}] = exp(%x)"))}


def test_thousands_of_errors_are_found_in_a_moment() -> None:
    lines = "\n".join(f"%v{i} = exp(%unbound{i})\n%w{i} = @missing{i}(%x)" for i in range(5000))

    assert len(problems(body(lines))) == 10_000
