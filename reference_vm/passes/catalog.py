"""All passes by name, and the pipelines made of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reference_vm.passes.bind_vdevices import BindVdevices
from reference_vm.passes.context import Pass
from reference_vm.passes.eliminate_common_subexpressions import EliminateCommonSubexpressions
from reference_vm.passes.eliminate_dead_code import EliminateDeadCode
from reference_vm.passes.fold_constants import FoldConstants
from reference_vm.passes.fuse import Fuse
from reference_vm.passes.infer_types import InferTypes
from reference_vm.passes.inline_closures import InlineClosures
from reference_vm.passes.inline_functions import InlineFunctions
from reference_vm.passes.insert_copies import InsertCopies
from reference_vm.passes.lambda_lift import LambdaLift
from reference_vm.passes.legalize import Legalize
from reference_vm.passes.lift_shape_functions import LiftShapeFunctions
from reference_vm.passes.pack_weights import PackWeights
from reference_vm.passes.place import Place
from reference_vm.passes.place_auto import PlaceAuto
from reference_vm.passes.plan_devices import PlanDevices
from reference_vm.passes.plan_memory import PlanMemory
from reference_vm.passes.precompute import Precompute
from reference_vm.passes.rebind_vdevice import RebindVdevice
from reference_vm.passes.resolve_tuples import ResolveTuples
from reference_vm.passes.simplify import Simplify
from reference_vm.passes.split import Split

_ALL: Final[tuple[type[Pass], ...]] = (
    RebindVdevice,
    BindVdevices,
    InferTypes,
    Simplify,
    InlineFunctions,
    ResolveTuples,
    InlineClosures,
    FoldConstants,
    EliminateCommonSubexpressions,
    EliminateDeadCode,
    LiftShapeFunctions,
    Place,
    Split,
    PlaceAuto,
    PlanDevices,
    InsertCopies,
    Legalize,
    Precompute,
    Fuse,
    PackWeights,
    LambdaLift,
    PlanMemory,
)

PASSES: Final[Mapping[str, type[Pass]]] = MappingProxyType({p.name: p for p in _ALL})
"""Every pass, by the name that pipelines spell."""


AUTO: Final = "auto"
"""What stands among the patterns of ``place`` for placement by cost, after all others."""


def simplifying() -> tuple[Pass, ...]:
    """Return the passes that make of a program one flat function an entry, nothing done twice."""
    return (BindVdevices(), InferTypes(), Simplify())


def requesting(place: str | None = None, split: str | None = None) -> Mapping[str, Pass]:
    """Return the passes that add requests to the program's own, by what the user asks for."""
    passes: dict[str, Pass] = {}
    parts = [p.strip() for p in (place or "").split(",")]
    patterns = ",".join(p for p in parts if p and p != AUTO)
    if patterns:
        passes["--place"] = Place(patterns)
    if split:
        passes[f"--split={split}"] = Split(split)
    if AUTO in parts:
        passes["--place=auto"] = PlaceAuto()
    return passes


def placing(place: str | None = None, split: str | None = None) -> tuple[Pass, ...]:
    """Return the passes that decide where everything is, and move what has to be moved."""
    return (*requesting(place, split).values(), PlanDevices(), InsertCopies(), Legalize())


def default_pipeline(place: str | None = None, split: str | None = None) -> tuple[Pass, ...]:
    """Return what a program goes through before code is made of it.

    ``place`` is a list of ``PATTERN=ROLE``, ``split`` a rule for what is left, both as the passes
    of these names take them; ``auto`` among the former places the rest by cost.
    """
    return (*simplifying(), *placing(place, split))


__all__ = ["PASSES", "default_pipeline", "placing", "requesting", "simplifying"]
