"""From a module to a program that a session can run.

program = compile(module, device_map="host=cpu:0,accel=sim:0")
print_module(program.module)         # what the compiler made of it, placed
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from reference_vm.codegen.emit import emit
from reference_vm.devices.catalog import KINDS, describe
from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir import verify
from reference_vm.ir.nodes import Module, Var
from reference_vm.ir.rewrite import walk
from reference_vm.ops.catalog import OPS
from reference_vm.options import Where, check_split, context, read_patterns, read_weights
from reference_vm.passes import pipeline
from reference_vm.passes.catalog import AUTO, default_pipeline, requesting
from reference_vm.passes.context import PassContext
from reference_vm.passes.cost_model import CostModel
from reference_vm.passes.explain import explain as explain_plan
from reference_vm.passes.explanation import Plan
from reference_vm.passes.fuse import Fuse
from reference_vm.passes.lambda_lift import LambdaLift
from reference_vm.passes.pack_weights import PackWeights
from reference_vm.passes.place import rules
from reference_vm.passes.plan_memory import PlanMemory
from reference_vm.passes.precompute import Precompute
from reference_vm.passes.roles import first_use
from reference_vm.program.cache import Place, place_of
from reference_vm.program.memory import check_memory
from reference_vm.program.program import Program
from reference_vm.program.wellformed import check_bytecode
from reference_vm.runtime.weights import WeightsFolder
from reference_vm.targets.catalog import check_executor, target_for
from reference_vm.types import DeviceMap, DeviceName, VirtualDevice, leaves


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Keep Python's collector of cycles from running inside.

    Compiling makes many objects that stay and hardly a cycle; the collector would walk over all of
    them again and again, and take more than linear time.
    """
    ran = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if ran:
            gc.enable()


@collector_at_rest()
def compile(  # noqa: A001 - what it does; always called as a method of the package
    module: Module,
    device_map: Where = "",
    *,
    policy: str = "copy",
    default: str | None = None,
    place: str | Sequence[str] = (),
    split: str | None = None,
    memory: str | Mapping[str, int] = "",
    costs: Path | str | CostModel | None = None,
    nominal: Mapping[str, int] | None = None,
    precompute: bool = True,
    fuse: bool = True,
    plan_memory: bool = True,
    executor: str | None = None,
    weights: Path | str | None = None,
    check: bool = False,
) -> Program:
    """Return ``module`` compiled for the devices that its roles are bound to.

    Args:
        module: A program; it is verified first.
        device_map: The device of each role; ``host`` is ``cpu:0`` unless it says otherwise.
        policy: What to do with a value wanted on two devices: ``copy``, ``replicate``, ``error``.
        default: The role or device for what nothing places; otherwise the first of the map.
        place: Requests by names of variables, ``"encoder/layer.1/*=accel"``, one or several;
            ``"auto"`` places what is left by cost.
        split: How to spread what nothing places: ``halves``, ``alternate`` or ``random:SEED``.
        memory: Bytes that automatic placement may use at once, ``"accel=64MiB"``.
        costs: The cost model of automatic placement, or a JSON file of one.
        nominal: Sizes of symbols, for weighing copies against each other.
        precompute: Whether what depends on constants alone runs once, while compiling.
        fuse: Whether operators may share a kernel.
        plan_memory: Whether storage is reused by a plan; otherwise each result has its own.
        executor: The target that makes kernels: ``numpy`` or ``numba``.
        weights: The folder of the weights files that the module names.
        check: Whether each pass is held to its contract, and the bytecode to what `load` asks of it
            and to its use of memory; it then says where values die, so that a session with
            ``checked=True`` sees a later read.

    Raises:
        CompileError: The program is at fault, or an option is.
    """
    check_executor(executor)
    folder = read_weights(weights)
    ctx = context(device_map, policy, default, memory, costs, nominal, executor)
    patterns = read_patterns(place)
    check_split(split)
    module = _prepared(module, ctx, patterns, split)
    steps = {"precompute": precompute, "fuse": fuse, "plan_memory": plan_memory}
    kept = None if check else _place(module, ctx, patterns, split, steps, executor)
    found = None if kept is None else kept.get()
    if found is not None:
        return found
    passes = default_pipeline(patterns, split)
    if precompute:
        passes += (Precompute(),)
    if fuse or plan_memory:
        passes += (Fuse(fuse), PackWeights())
    passes += (LambdaLift(),)
    if plan_memory:
        passes += (PlanMemory(poison=check),)
    module = pipeline.run(module, passes, ctx, check=check)
    program = assemble(module, device_map=ctx.device_map, executor=executor, weights=folder)
    if check:
        check_bytecode(program.executable, program.primitives)
        check_memory(program)
    if kept is not None:
        kept.put(program)
    return program


def _place(
    module: Module,
    ctx: PassContext,
    patterns: str,
    split: str | None,
    steps: Mapping[str, bool],
    executor: str | None,
) -> Place | None:
    """Return where the program is kept that these choices make of a verified module, if it is."""
    kinds = sorted({"cpu", *(d.kind for d in ctx.device_map.devices)})
    return place_of(
        module,
        {
            "devices": list(ctx.device_map.items()),
            "policy": str(ctx.policy),
            "default": ctx.default,
            "patterns": patterns,
            "split": split,
            "nominal": sorted(ctx.nominal.items()),
            "costs": ctx.costs,
            "memory": sorted(ctx.memory.items()),
            "missing": sorted((name, sorted(m)) for name, m in ctx.missing_dtypes.items()),
            **steps,
            "executor": executor,
            "targets": [target_for(kind, executor).name for kind in kinds],
        },
    )


def explain(
    module: Module,
    device_map: Where = "",
    *,
    policy: str = "copy",
    default: str | None = None,
    place: str | Sequence[str] = (),
    split: str | None = None,
    memory: str | Mapping[str, int] = "",
    costs: Path | str | CostModel | None = None,
    nominal: Mapping[str, int] | None = None,
) -> Plan:
    """Return where `compile` would have everything be, with the reasons.

    Raises:
        CompileError: The program is at fault, or an option is.
    """
    ctx = context(device_map, policy, default, memory, costs, nominal, None)
    patterns = read_patterns(place)
    check_split(split)
    module = _prepared(module, ctx, patterns, split)
    return explain_plan(module, requesting(patterns, split), ctx)


def _prepared(module: Module, ctx: PassContext, patterns: str, split: str | None) -> Module:
    """Return ``module``, verified, with all roles of the map declared if it is to be spread."""
    spread = bool(split) or AUTO in patterns
    if not isinstance(module, Module):
        raise CompileError(catalog.not_a_module(module))
    verify.verify(module)
    _check_kinds(module)
    _check_default(module, ctx)
    if spread:
        return _with_roles(module, ctx.device_map)
    check_roles(module, ctx, patterns)
    return module


def check_roles(module: Module, ctx: PassContext, patterns: str = "") -> None:
    """Raise `CompileError` for each role of the device map that is none of the program.

    The default and placement patterns may name others, and a program without roles may be given
    any.
    """
    declared = tuple(v.role for v in module.vdevices)
    named = {"host", (ctx.default or "").removeprefix("@"), *declared}
    named |= {role for _, role in rules(patterns)}
    unknown = [role for role in ctx.device_map if role not in named]
    if declared and unknown:
        raise CompileError(*(catalog.unknown_role(role, declared) for role in unknown))


def _check_kinds(module: Module) -> None:
    """Raise `CompileError` if the program binds a role to a device of a kind that there is not."""
    problems = [
        catalog.device_unavailable(str(device), describe(device).reason, first_use(module, vdevice))
        for vdevice in module.vdevices
        if (device := vdevice.device) is not None and device.kind not in KINDS
    ]
    if problems:
        raise CompileError(*problems)


def _check_default(module: Module, ctx: PassContext) -> None:
    """Raise `CompileError` unless the default is a role of the program or map, or a device."""
    name = (ctx.default or "").removeprefix("@")
    roles = (*(v.role for v in module.vdevices), *ctx.device_map)
    if not name or name in roles:
        return
    try:
        described = describe(DeviceName.parse(name))
    except ValueError:
        expected = f"a role ({', '.join(dict.fromkeys(roles)) or 'there is none'}) or a device"
        raise CompileError(catalog.invalid_option("default", name, expected)) from None
    if described.name.kind not in KINDS:
        raise CompileError(catalog.device_unavailable(name, described.reason))


def assemble(
    module: Module,
    *,
    device_map: DeviceMap | None = None,
    executor: str | None = None,
    weights: Path | None = None,
) -> Program:
    """Return the program of a module that is already placed.

    Raises:
        CompileError: Something is left in it that a pass should have removed, or a value lives on a
            device that has no such elements.
    """
    _check_dtypes(module)
    code = emit(module, OPS)
    return Program(
        module,
        code.executable,
        code.primitives,
        device_map or DeviceMap(),
        executor,
        WeightsFolder(weights),
    )


def _with_roles(module: Module, devices: DeviceMap) -> Module:
    """Return ``module`` with every role of the map declared, so that it can be split over them."""
    declared = {v.role for v in module.vdevices}
    missing = tuple(VirtualDevice(role) for role in devices if role not in declared)
    return replace(module, vdevices=(*module.vdevices, *missing))


def _check_dtypes(module: Module) -> None:
    """Raise `CompileError` for each variable whose elements its device does not have."""
    missing: dict[DeviceName, frozenset[str]] = {}
    found: list[Diagnostic] = []
    for var in _variables(module):
        for leaf in leaves(var.type) if var.type is not None else ():
            device = leaf.vdevice.device if leaf.vdevice is not None else None
            if device is None:
                continue
            if device not in missing:
                missing[device] = describe(device).missing_dtypes
            if leaf.dtype.name in missing[device]:
                found.append(
                    catalog.unsupported_dtype(str(device), leaf.dtype.name, var.name, var.span)
                )
    if found:
        raise CompileError(*found)


def _variables(module: Module) -> Iterator[Var]:
    for function in module.functions:
        yield from function.params
        yield from (b.var for b in walk(function.body))
