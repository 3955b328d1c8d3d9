"""Mutants that compile by other rules, or take what they should refuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, final

import numpy as np

from hettest.backend.protocol import Options, Rejected
from hettest.language import Module, nodes
from reference_vm import options
from reference_vm.ir import verify
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import Compute, OpCall
from reference_vm.passes import simplify
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.fold_constants import FoldConstants
from tests.mutants.mutant import Mutant, Replacement, kill
from tests.mutants.programs import rewriting

REFUSED: Final = "diagnostics/two_readers_under_error[refused,host=cpu:0,accel=sim:0,policy=error]"

BEYOND_FLOATS: Final = (
    "bugs/c22_constant_folding/integers_beyond_floats[plain,case=i64-truncated,default=cpu:0]"
)
SLICED: Final = tuple(
    f"bugs/c24_shape_functions/slice_of_the_other_axis[{run},default=cpu:0]"
    for run in ("one", "none", "four")
)
TWICE: Final = "bugs/c19_merging/same_sum_on_two_devices[plain,host=cpu:0,accel=sim:0,policy=copy]"


@final
@dataclass(frozen=True)
class _FoldWith:
    """Fold constants by the meaning that some operators have here alone."""

    changed: Mapping[str, Compute]

    name: ClassVar[str] = FoldConstants.name
    requires: ClassVar[frozenset[Property]] = FoldConstants.requires
    establishes: ClassVar[frozenset[Property]] = FoldConstants.establishes

    def run(self, module: Module, ctx: PassContext) -> Module:
        changed = {name: replace(OPS[name], compute=c) for name, c in self.changed.items()}
        return FoldConstants().run(module, replace(ctx, ops={**OPS, **changed}))


def _folding(changed: Mapping[str, Compute]) -> Replacement:
    """Return a pipeline that folds some operators differently."""

    passes = tuple(
        _FoldWith(changed) if p.name == FoldConstants.name else p
        for p in simplify.round_of_passes()
    )
    return Replacement(simplify, "round_of_passes", lambda: passes)


def _divided_as_f64(xp: Any, x: Any, y: Any) -> Any:
    return np.trunc(x.astype(np.float64) / y.astype(np.float64)).astype(x.dtype)


def _without_axes(call: OpCall) -> Any:
    """Infer the shape of a slice as if it named no axes."""
    types, contents = list(call.types), list(call.contents)
    if call.present(3):
        types[3] = contents[3] = None
    return OPS["slice"].infer(replace(call, types=tuple(types), contents=tuple(contents)))


def _merged_across_devices(module: Module) -> Module:
    """Let one of several equal calls stand for all, wherever they were asked to run."""
    first: dict[object, nodes.Var] = {}

    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        value = binding.value
        if not isinstance(value, nodes.Call):
            return (binding,)
        kept = first.setdefault((value.op, value.args, value.attrs), binding.var)
        if kept is binding.var:
            return (binding,)
        return (replace(binding, value=nodes.Alias(kept), request=None),)

    return rewriting(change)(module)


def _never_an_error(wanted: Options) -> Options:
    return replace(wanted, policy="copy")


def _a_line_later(rejected: Rejected) -> Rejected:
    line = None if rejected.line is None else rejected.line + 1
    return Rejected(rejected.stage, rejected.code, line, str(rejected))


def _without_a_name(rejected: Rejected) -> Rejected:
    return Rejected(rejected.stage, "error", rejected.line, str(rejected))


MUTANTS: Final = (
    Mutant(
        name="folds-by-another-rule",
        fault_class="C22",
        breaks="divides constants with truncation, and floors at run time",
        kills=(kill("constants/integer_arithmetic[zeros,default=cpu:0]", "values"),),
        loading=(_folding({"floor_divide": OPS["trunc_divide"].compute}),),
    ),
    Mutant(
        name="folds-through-f64",
        fault_class="C22",
        breaks="divides integers that are constants as floats",
        kills=(kill(BEYOND_FLOATS, "values"),),
        loading=(_folding({"trunc_divide": _divided_as_f64}),),
    ),
    Mutant(
        name="forgets-the-axes-of-a-slice",
        fault_class="C24",
        breaks="foretells the shape of a slice as if it were of the first axes",
        kills=tuple(kill(item, "diagnostics") for item in SLICED),
        loading=(
            Replacement(
                options, "OPS", {**OPS, "slice": replace(OPS["slice"], infer=_without_axes)}
            ),
        ),
    ),
    Mutant(
        name="merges-across-devices",
        fault_class="C19",
        breaks="computes once what was asked for on two devices, and copies it",
        kills=(kill(TWICE, "placement", "copies", "moved"),),
        module=_merged_across_devices,
    ),
    Mutant(
        name="accepts-a-donated-read",
        fault_class="C15",
        breaks="does not verify programs",
        kills=(
            kill("diagnostics/donated_and_read[refused,default=cpu:0]", "diagnostics"),
            kill("diagnostics/impure_dataflow[refused,default=cpu:0]", "diagnostics"),
        ),
        loading=(Replacement(verify, "verify", lambda module: None),),
    ),
    Mutant(
        name="ignores-policy-error",
        fault_class="C01",
        breaks="copies what policy error refuses to",
        kills=(kill(REFUSED, "diagnostics"),),
        options=_never_an_error,
    ),
    Mutant(
        name="reports-the-next-line",
        breaks="places every diagnostic one line too low",
        kills=(kill("diagnostics/shape_mismatch[refused,default=cpu:0]", "diagnostics"),),
        refusal=_a_line_later,
    ),
    Mutant(
        name="reports-no-code",
        breaks="calls every diagnostic an error and nothing more",
        kills=(kill("diagnostics/shape_mismatch[refused,default=cpu:0]", "diagnostics"),),
        refusal=_without_a_name,
    ),
)
