"""Memory plans: how much is reused, and that what is computed stays the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.compiler import assemble
from reference_vm.ir.nodes import Call, Module
from reference_vm.ir.rewrite import walk
from reference_vm.passes.fuse import Fuse
from reference_vm.passes.plan_memory import PlanMemory
from reference_vm.program.memory import memory_problems
from reference_vm.session import Session
from tests.unit.fuse.modules import context, fused, placed
from tests.unit.memory.programs import random_program


def planned(module: Module) -> Module:
    """Return the module with its plan, which says where values die."""
    return PlanMemory(poison=True).run(fused(module), context())


def storages(module: Module) -> list[str]:
    """The sizes allocated in ``main``, in order."""
    return [
        str(b.value.attrs["size"])
        for b in walk(module.by_name["main"].body)
        if isinstance(b.value, Call) and b.value.op == "vm.alloc_storage"
    ]


def products(length: int, first: str = "%x") -> str:
    lines = [f"%m0: f32[n, n] @host = matmul({first}, %x)"]
    lines += [f"%m{i}: f32[n, n] @host = matmul(%m{i - 1}, %x)" for i in range(1, length)]
    return "\n".join(lines)


def test_long_chain_needs_two_storages() -> None:
    module = placed("%x: f32[n, n] @host) -> f32[n, n] @host", f"{products(50)}\nreturn %m49")
    assert storages(planned(module)) == ["4*n*n"] * 2


def test_tensors_of_known_sizes_lie_in_one_storage_that_holds_what_lives_at_once() -> None:
    """Every operator has a kernel of its own here."""
    body = """%a: f32[2, 2] @host = matmul(%x, %x)
              %b: f32[2, 64] @host = matmul(%a, %y)
              %c: f32[2, 64] @host = matmul(%a, %y)
              %p: f32[64, 2] @host = permute_dims(%b, axes = [1, 0])
              %d: f32[2, 2] @host = matmul(%c, %p)
              return %d"""
    text = placed("%x: f32[2, 2] @host, %y: f32[2, 64] @host) -> f32[2, 2] @host", body)
    module = PlanMemory().run(Fuse(enabled=False).run(text, context()), context())
    assert storages(module) == ["1536", "16"]
    assert memory_problems(assemble(module)) == []


def test_result_of_a_called_function_is_given_back() -> None:
    module = placed(
        "%x: f32[n, n] @host) -> f32[n, n] @host",
        """%a: f32[n, n] @host = @twice(%x)
           %b: f32[n, n] @host = matmul(%a, %x)
           return %b""",
        """fn @twice(%y: f32[k, k] @host) -> f32[k, k] @host {
             %c: f32[k, k] @host = matmul(%y, %y)
             %d: f32[k, k] @host = matmul(%c, %y)
             return %d
           }""",
    )
    result = planned(module)
    assert memory_problems(assemble(result)) == []
    session = Session(assemble(result), checked=True)
    x = np.eye(3, dtype=np.float32) * 2
    np.testing.assert_array_equal(session.run("main", x), x @ x @ x @ x)
    assert all(s.current == 0 for s in session.memory().values())


def test_function_that_returns_its_argument_keeps_it_alive() -> None:
    module = placed(
        "%x: f32[n, n] @host) -> f32[n, n] @host",
        """%a: f32[n, n] @host = matmul(%x, %x)
           %b: f32[n, n] @host = @same(%a)
           %c: f32[n, n] @host = matmul(%x, %x)
           %d: f32[n, n] @host = matmul(%b, %c)
           return %d""",
        "fn @same(%y: f32[k, k] @host) -> f32[k, k] @host { return %y }",
    )
    result = planned(module)
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    session = Session(assemble(result), checked=True)
    np.testing.assert_array_equal(session.run("main", x), x @ x @ (x @ x))


@pytest.mark.parametrize("seed", range(40))
def test_planned_program_computes_what_the_plain_one_does(seed: int) -> None:
    """Random programs with views, branches and tuples; dead memory is poisoned."""
    text = random_program(seed)
    module = placed(*text)
    plan = planned(module)

    assert memory_problems(assemble(plan)) == []

    generator = np.random.default_rng(seed)
    args: list[Any] = [generator.standard_normal((4, 4)).astype(np.float32) for _ in range(2)]
    for condition in (True, False):
        operands = (*args, np.array(condition))
        expected = Session(assemble(module, executor="numpy")).run("main", *operands)
        session = Session(assemble(plan), checked=True)
        found = session.run("main", *operands)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        assert all(s.current == 0 for s in session.memory().values())
