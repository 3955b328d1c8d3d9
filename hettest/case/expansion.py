"""From a case to its items: every run, policy and binding of roles to the named devices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

from hettest.case.model import Case, Run
from hettest.devicemap import Binding, bindings, first_of_each_kind, is_straight, show

_COMMENT = re.compile(r"//[^\n]*")
_DECLARATION = re.compile(
    r"\bvdevice\b((?:\s*,?\s*@[\w.]+(?:\s*=\s*\"[^\"]*\")?(?:\s*scope\s*\"[^\"]*\")?)+)"
)
_ROLE = re.compile(r"@([\w.]+)(\s*=)?")
_LEAST = {"two-devices": 2, "three-devices": 3}
DISTINCT = "distinct-devices"
DEVICE_COUNTS = frozenset({*_LEAST, DISTINCT})
"""The words of ``requires`` that speak of how many devices are named."""


@final
@dataclass(frozen=True)
class Item:
    """One thing to check: a case, a run of it, a policy and a binding."""

    case: Case
    run: Run | None
    """``None`` for a program that only compiles, or is refused."""

    binding: Binding
    policy: str
    default: str
    """The device for what nothing places."""

    host: str
    """The device that a CPU-only run uses: the first that was named."""

    @cached_property
    def id(self) -> str:
        """``placement/shared_input[plain,host=cpu:0,accel=sim:0,policy=copy]``."""
        parts = [self.name, *self.case.swept]
        if self.binding:
            parts += [show(self.binding), f"policy={self.policy}"]
        else:
            parts.append(f"default={self.default}")
        return f"{self.case.id}[{','.join(parts)}]"

    @property
    def name(self) -> str:
        if self.run is not None:
            return self.run.name
        return "refused" if self.case.refused else "compiles"

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that the item needs, each once."""
        return tuple(dict.fromkeys((self.host, *self.binding.values(), self.default)))

    @property
    def is_straight(self) -> bool:
        """Whether the numbers that the case states hold for this binding."""
        return is_straight(self.binding, self.host)


def roles_of(program: str) -> tuple[str, ...]:
    """Return the roles that the program's text declares and leaves for the map to bind.

    Reads the text, not the parsed program, so that it answers for malformed ones too.
    """
    plain = _COMMENT.sub("", program)
    found = (_ROLE.findall(declared[1]) for declared in _DECLARATION.finditer(plain))
    return tuple(dict.fromkeys(name for part in found for name, bound in part if not bound))


def least_devices(case: Case, roles: Sequence[str]) -> int:
    """Return how many devices must be named for the case to have items."""
    counts = [_LEAST[word] for word in case.requires if word in _LEAST]
    if DISTINCT in case.requires:
        counts.append(len(roles))
    return max(counts, default=1)


def expand(case: Case, devices: Sequence[str], fixed: Binding | None = None) -> tuple[Item, ...]:
    """Return the items of ``case`` for the named devices, the first of which is the host.

    ``fixed`` binds roles by name in place of the case's own wish. There are no items if the case
    needs more devices than are named, or roles that ``fixed`` leaves out.
    """
    roles = roles_of(case.program)
    ways = _bindings(case, roles, devices) if fixed is None else _fixed(roles, fixed)
    runs: Sequence[Run | None] = case.runs or (None,)
    if not case.runs:
        ways = ways[:1]
    return tuple(
        Item(case, run, _leave_out(binding, case.unbound), policy, default, devices[0])
        for run in runs
        for binding in ways
        for default in _defaults(case, binding, devices)
        for policy in case.policies
    )


def _bindings(case: Case, roles: Sequence[str], devices: Sequence[str]) -> tuple[Binding, ...]:
    return bindings(roles, devices, case.bind, least_devices(case, roles))


def _fixed(roles: Sequence[str], fixed: Binding) -> tuple[Binding, ...]:
    known = {"host": "cpu:0", **fixed}
    if any(role not in known for role in roles):
        return ()
    return ({role: known[role] for role in roles},)


def _leave_out(binding: Binding, roles: Sequence[str]) -> Binding:
    return {role: device for role, device in binding.items() if role not in roles}


def _defaults(case: Case, binding: Binding, devices: Sequence[str]) -> tuple[str, ...]:
    if binding:
        return (binding.get(case.default or "", devices[0]),)
    if not case.runs:
        return (devices[0],)
    return first_of_each_kind(devices)
