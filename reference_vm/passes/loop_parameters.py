"""Give a loop a second parameter for what each of its trips reads on a second device.

Before::

    fn @trips(%i: i64[] @host, %v: f32[2] @accel) -> f32[2] @host {
      … add(%acc, %v) @host …
      %q = @trips(%j, %v)

After::

    fn @trips(%i: i64[] @host, %v: f32[2] @accel, %v.host: f32[2] @host) -> f32[2] @host {
      … add(%acc, %v) @host …
      %q = @trips(%j, %v, %v.host)

Who calls the loop passes ``%v`` twice, so that ``insert-copies`` moves it there, once; in the loop
it reads ``%v.host`` (`planning.md` section 4). A loop that is called from outside, or named as a
value, keeps its signature and calls the loop that has more parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from reference_vm.analysis.faces import Faces
from reference_vm.analysis.locality import Locality
from reference_vm.analysis.loops import Loop, loop
from reference_vm.analysis.recursion import mentioned
from reference_vm.ir import rewrite
from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import (
    Binding,
    Block,
    Function,
    FunctionValue,
    GlobalRef,
    Invoke,
    Module,
    Var,
)
from reference_vm.ops.definition import OpDef
from reference_vm.types import Attrs, TensorType, VirtualDevice


@final
@dataclass(frozen=True, slots=True)
class Added:
    """A parameter that a loop has got."""

    invariant: int
    """The position of the parameter that it is a copy of."""

    device: VirtualDevice


def with_loop_parameters(
    module: Module, ops: Mapping[str, OpDef], host: VirtualDevice
) -> tuple[Module, Mapping[str, tuple[tuple[Var, Var], ...]]]:
    """Return ``module`` with more parameters on its loops, and which are copies of which.

    The pairs, by the function's name, are of a parameter and its copy on another device.
    """
    added: dict[str, tuple[Added, ...]] = {}
    for function in module.functions:
        found = loop(function)
        if found is not None:
            locality = Locality(Faces(function, ops), module, host)
            wanted = tuple(_wanted(found, locality))
            if wanted:
                added[function.name] = wanted
    if not added:
        return module, {}
    wrapped = _entered(module) & added.keys()
    names = FreshNames({f.name for f in module.functions})
    inner = {name: names.fresh(f"{name}.loop") for name in wrapped}
    functions: list[Function] = []
    for function in module.functions:
        changed = _with_arguments(function, added, inner)
        if function.name not in added:
            functions.append(changed)
            continue
        if function.name in wrapped:
            functions.append(_wrapper(function, added[function.name], inner[function.name]))
        functions.append(_with_parameters(changed, added[function.name], inner))
    new = module.with_functions(functions)
    pairs = {}
    for name, wanted in added.items():
        params = new.by_name[inner.get(name, name)].params
        copies = params[len(params) - len(wanted) :]
        pairs[inner.get(name, name)] = tuple(
            (params[a.invariant], copy) for a, copy in zip(wanted, copies, strict=True)
        )
    return new, pairs


def _wanted(found: Loop, locality: Locality) -> Sequence[Added]:
    """Return what the trips of a loop read of its invariant parameters on other devices."""
    function, faces = found.function, locality.faces
    positions = {
        faces.of[param][0]: index
        for index, param in enumerate(function.params)
        if param in found.invariant
        and isinstance(param.type, TensorType)
        and index not in function.donated
    }
    wanted: dict[Added, None] = {}
    calls = {call.var for call in found.calls}
    for binding in found.repeated():
        if binding.var in calls:
            continue
        for demand in locality.demands(binding):
            for face, device in zip(demand.faces, demand.devices, strict=True):
                root = faces.roots[face]
                if root in positions and faces.home(root) != device:
                    wanted[Added(positions[root], device)] = None
    return sorted(wanted, key=lambda a: (a.invariant, a.device.role))


def _entered(module: Module) -> frozenset[str]:
    """Return the functions whose signatures others rely on."""
    named: set[str] = {f.name for f in module.entries}
    for function in module.functions:
        for binding in rewrite.walk(function.body):
            value = binding.value
            if isinstance(value, FunctionValue):
                named.add(value.ref.function)
            elif isinstance(value, Invoke):
                named.update(a.function for a in value.args if isinstance(a, GlobalRef))
    return frozenset(named)


def _with_arguments(
    function: Function, added: Mapping[str, tuple[Added, ...]], inner: Mapping[str, str]
) -> Function:
    """Return ``function`` passing what the loops that it calls want besides."""
    if not any(name in added for name in mentioned(function)):
        return function
    own = added.get(function.name, ())

    def change(binding: Binding) -> tuple[Binding, ...]:
        value = binding.value
        if not isinstance(value, Invoke) or not isinstance(value.callee, GlobalRef):
            return (binding,)
        name = value.callee.function
        if name == function.name and own:
            return (binding,)  # passes on its own
        if name not in added or name in inner:
            return (binding,)
        more = tuple(value.args[a.invariant] for a in added[name])
        return (replace(binding, value=replace(value, args=(*value.args, *more))),)

    return replace(function, body=rewrite.rebuild(function.body, change, {}))


def _with_parameters(
    function: Function, wanted: Sequence[Added], inner: Mapping[str, str]
) -> Function:
    """Return the loop with a parameter for each of ``wanted``, which its calls pass on."""
    copies = []
    for one in wanted:
        param = function.params[one.invariant]
        type_ = param.tensor.on(one.device)
        copies.append(Var(f"{param.name}.{one.device.role}", type_))
    name = inner.get(function.name, function.name)

    def change(binding: Binding) -> tuple[Binding, ...]:
        value = binding.value
        if not isinstance(value, Invoke) or value.callee != GlobalRef(function.name):
            return (binding,)
        call = replace(value, callee=GlobalRef(name), args=(*value.args, *copies))
        return (replace(binding, value=call),)

    body = rewrite.rebuild(function.body, change, {})
    attrs = function.attrs
    if name != function.name:
        attrs = Attrs({k: v for k, v in attrs.items() if k != "entry"})
    return replace(function, name=name, params=(*function.params, *copies), body=body, attrs=attrs)


def _wrapper(function: Function, wanted: Sequence[Added], inner: str) -> Function:
    """Return a function with the signature of ``function`` that calls the loop ``inner``."""
    params = tuple(map(rewrite.fresh, function.params))
    args = (*params, *(params[one.invariant] for one in wanted))
    result = Var("result", function.result)
    call = Binding(result, Invoke(GlobalRef(inner), args, span=function.span))
    return replace(function, params=params, body=Block((call,), result))


__all__ = ["Added", "with_loop_parameters"]
