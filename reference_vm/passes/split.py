"""Spread a program's operators over the devices of the map, by rule.

``split{mode="halves"}`` with the device map ``host=cpu:0,accel=sim:0``, before::

    %a = exp(%x)
    %b = abs(%a)
    %c = add(%a, %b)
    %d = log(%c)

After::

    %a = exp(%x) @host
    %b = abs(%a) @host
    %c = add(%a, %b) @accel
    %d = log(%c) @accel

``halves`` gives each device a run of neighbours, ``alternate`` takes the devices in turn, and
``random:SEED`` draws one for each operator. Operators are numbered along the path that a run takes:
the arms of a branch begin with the same number. What the program places itself keeps its place, and
so do host facts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import Block, Function, Module, Var, blocks
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.requests import open_operators, role, with_requests, with_roles
from reference_vm.types import VirtualDevice

Rule: TypeAlias = Callable[[int, int, int], int]
"""From an operator's index, their number and that of the devices to the device's index."""


@final
@dataclass(frozen=True)
class Split:
    """``split``: request devices by rule."""

    name: ClassVar[str] = "split"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED, Property.BOUND})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    mode: str
    """``halves``, ``alternate`` or ``random:SEED``."""

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with a suffix on every operator that the program leaves open.

        Raises:
            CompileError: ``mode`` is none of the three.
        """
        rule = _rule(self.mode)
        named = {name: role(module, ctx, name) for name in ctx.device_map}
        devices = list(dict.fromkeys(named.values()))
        functions = []
        for function in module.functions:
            numbers, count = _numbered(function, module, ctx)
            chosen: Mapping[Var, VirtualDevice] = {
                var: devices[rule(number, count, len(devices))]
                for var, number in numbers.items()
                if devices
            }
            functions.append(with_requests(function, chosen))
        return with_roles(module, named).with_functions(functions)


def _numbered(
    function: Function, module: Module, ctx: PassContext
) -> tuple[Mapping[Var, int], int]:
    """Return each open operator's place on the paths to it, and the longest path's length."""
    open_ = {binding.var for binding in open_operators(function, ctx.ops, module)}
    numbers: dict[Var, int] = {}

    def number(block: Block, start: int) -> int:
        for binding in block.bindings():
            if binding.var in open_:
                numbers[binding.var] = start
                start += 1
            start = max((number(arm, start) for arm in blocks(binding.value)), default=start)
        return start

    return numbers, number(function.body, 0)


def _rule(mode: str) -> Rule:
    name, _, seed = mode.partition(":")
    if mode == "halves":
        return lambda index, count, devices: index * devices // count
    if mode == "alternate":
        return lambda index, count, devices: index % devices
    if name == "random" and seed.removeprefix("-").isdecimal():
        draw = random.Random(int(seed))
        return lambda index, count, devices: draw.randrange(devices)
    raise CompileError(catalog.split_mode(mode))


__all__ = ["Split"]
