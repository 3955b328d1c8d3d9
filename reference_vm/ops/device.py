"""Operators that say where values live: device_copy, to_vdevice, hint_on_device; and match_cast.

Types carry no device in type rules, so each returns its operand's. Where the result lives is the
business of ``plan-devices``; what match_cast's result is, its binding says.
"""

from __future__ import annotations

from typing import Final

from reference_vm.ops.contents import same
from reference_vm.ops.definition import Array, Attr, Namespace, OpCall, OpDef, Trait
from reference_vm.ops.elementwise import X
from reference_vm.types import TensorType


def _infer(call: OpCall) -> TensorType:
    return call.tensor(0).on(None)


def _same(xp: Namespace, x: Array) -> Array:
    return x


def _copy(xp: Namespace, x: Array, *, cause: str, reader: str | None, line: int | None) -> Array:
    return xp.array(x)


_NONE: Final = type(None)

OPS: Final[tuple[OpDef, ...]] = (
    OpDef(
        name="device_copy",
        summary="A fresh copy on the device that the binding asks for.",
        operands=(X,),
        attrs={
            "cause": Attr((str,), "explicit", ("explicit", "read", "host", "result", "argument")),
            "reader": Attr((str, _NONE), None),
            "line": Attr((int, _NONE), None),
        },
        infer=_infer,
        compute=_copy,
        content=same,
        traits=frozenset({Trait.MOVES_DATA}),
        origin="hettest",
    ),
    OpDef(
        name="to_vdevice",
        summary="The same value, living on the role that the binding asks for from here on.",
        operands=(X,),
        infer=_infer,
        compute=_same,
        content=same,
        traits=frozenset({Trait.MOVES_DATA}),
        origin="hettest",
    ),
    OpDef(
        name="hint_on_device",
        summary="The same value, which had better live on the role that the binding asks for.",
        operands=(X,),
        infer=_infer,
        compute=_same,
        content=same,
        traits=frozenset({Trait.VIEW, Trait.EXACT}),
        origin="hettest",
    ),
    OpDef(
        name="match_cast",
        summary="The same value, whose shape is checked against the binding's type in the run.",
        operands=(X,),
        infer=_infer,
        compute=_same,
        content=same,
        traits=frozenset({Trait.VIEW, Trait.CAN_FAIL}),
        origin="hettest",
    ),
)
