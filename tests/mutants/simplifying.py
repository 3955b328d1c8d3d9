"""Mutants that simplify too little, or see what a trip of a loop reads as if it were read once."""

from __future__ import annotations

from typing import Final

from reference_vm.analysis.effects import Effects
from reference_vm.analysis.faces import Faces
from reference_vm.passes import eliminate_common_subexpressions, instances, simplify
from reference_vm.passes.context import Pass
from reference_vm.passes.eliminate_common_subexpressions import EliminateCommonSubexpressions
from reference_vm.passes.eliminate_dead_code import EliminateDeadCode, _Eliminator
from reference_vm.passes.fold_constants import FoldConstants
from reference_vm.passes.inline_closures import InlineClosures
from reference_vm.passes.inline_functions import InlineFunctions
from reference_vm.passes.lift_shape_functions import LiftShapeFunctions
from reference_vm.passes.resolve_tuples import ResolveTuples
from reference_vm.passes.second_names import FirstNames
from reference_vm.passes.trip_homes import TripHomes
from tests.mutants.mutant import Mutant, Replacement, kill

_PLACED: Final = "host=cpu:0,accel=sim:0,policy=copy"
UNREAD: Final = f"placement/unread_item[plain,{_PLACED}]"
UNREAD_IN_ARMS: Final = f"planning/unread_item_of_a_branch[then,{_PLACED}]"
SECOND_NAME: Final = f"placement/equal_by_another_name[plain,names=alias,{_PLACED}]"
PROJECTION: Final = f"placement/equal_by_another_name[plain,names=projection,{_PLACED}]"
SENT_TWICE: Final = f"planning/moved_twice[plain,second=move,{_PLACED}]"
SENT_AND_PLACED: Final = f"planning/moved_twice[plain,second=name,{_PLACED}]"
PLACED_TWICE: Final = f"planning/placed_names_of_one_value[plain,{_PLACED}]"
LOOP: Final = f"planning/loop_away_from_its_ends[five,{_PLACED}]"
TWO_VALUES: Final = f"planning/loop_of_two_devices[five,{_PLACED}]"
NESTED: Final = f"planning/loop_in_a_loop[four,{_PLACED}]"
IN_TURN: Final = f"planning/loops_in_turn[five,{_PLACED}]"
CLOSURE: Final = f"planning/closure_called_again[plain,{_PLACED}]"
CALL_FOR_NOBODY: Final = f"planning/call_that_nobody_reads[plain,unread=loop,{_PLACED}]"
BOTH: Final = ("copies", "moved")


def _round_of(*passes: Pass) -> Replacement:
    return Replacement(simplify, "round_of_passes", lambda: passes)


def _not_decided(*_: object) -> TripHomes:
    return TripHomes({}, {}, frozenset(), frozenset())


MUTANTS: Final = (
    Mutant(
        name="items-resolved-too-late",
        fault_class="C04",
        breaks="takes tuples apart only after dead code was removed",
        kills=(kill(UNREAD, *BOTH), kill(PROJECTION, *BOTH)),
        loading=(
            _round_of(
                InlineFunctions(),
                InlineClosures(),
                FoldConstants(),
                EliminateCommonSubexpressions(),
                LiftShapeFunctions(),
                EliminateDeadCode(),
            ),
        ),
    ),
    Mutant(
        name="one-round",
        fault_class="C04",
        breaks="simplifies in one round, whatever that leaves",
        kills=(kill(UNREAD_IN_ARMS, *BOTH),),
        loading=(Replacement(simplify, "ROUNDS", 1),),
    ),
    Mutant(
        name="arms-yield-all",
        fault_class="C04",
        breaks="lets branches yield what nobody takes",
        kills=(kill(UNREAD_IN_ARMS, *BOTH),),
        loading=(Replacement(_Eliminator, "_note", lambda self, binding: None),),
    ),
    Mutant(
        name="names-tell-apart",
        fault_class="C01",
        breaks="takes two names of a value for two values",
        kills=(kill(SECOND_NAME, *BOTH),),
        loading=(Replacement(FirstNames, "learn", lambda self, binding: None),),
    ),
    Mutant(
        name="moved-again",
        fault_class="C01",
        breaks="lets a value that is sent to a device twice be two values there",
        kills=(
            kill(SENT_TWICE, *BOTH),
            kill(SENT_AND_PLACED, *BOTH),
            kill(PLACED_TWICE, *BOTH),
        ),
        loading=(
            Replacement(
                eliminate_common_subexpressions._Merger,
                "_may_merge",
                lambda self, binding, value: False,
            ),
            Replacement(
                Faces, "_seen", lambda self, source, leaf, var, path: self._face(var, path)
            ),
        ),
    ),
    Mutant(
        name="last-trip-decides",
        fault_class="C04",
        breaks="lets what a loop carries live on the host if only the last trip reads it there",
        kills=(
            kill(LOOP, *BOTH),
            kill(TWO_VALUES, *BOTH),
            kill(NESTED, *BOTH),
            kill(IN_TURN, *BOTH),
        ),
        loading=(Replacement(instances, "trip_homes", _not_decided),),
    ),
    Mutant(
        name="closures-called",
        fault_class="C04",
        breaks="calls closures that it knows, and copies what they captured at each call",
        kills=(kill(CLOSURE, *BOTH),),
        loading=(
            _round_of(
                InlineFunctions(),
                ResolveTuples(),
                FoldConstants(),
                EliminateCommonSubexpressions(),
                LiftShapeFunctions(),
                EliminateDeadCode(),
            ),
        ),
    ),
    Mutant(
        name="calls-for-nobody",
        fault_class="C04",
        breaks="makes every call, whether anybody reads its result or not",
        kills=(kill(CALL_FOR_NOBODY, *BOTH),),
        loading=(Replacement(Effects, "_may_act", lambda self, invoke: True),),
    ),
)
