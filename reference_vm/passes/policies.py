"""What to do with a value that is wanted on two devices, value by value.

A module's policy is an option of the compiler. A function may have another for its own values, and
for some of them by name::

    fn @main(%a: f32[4], %b: f32[4]) -> f32[4]
        attrs { policy = "error", policy.copy = ["t"], policy.replicate = ["b"] } { … }

``infer-types`` writes names in full, ``main/%b``; ``inline-functions`` hands them on to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Function, Var
from reference_vm.passes.context import Policy
from reference_vm.types import Attrs

POLICY: Final = "policy"
_LISTS: Final = {f"{POLICY}.{policy.value}": policy for policy in Policy}


@final
@dataclass(frozen=True)
class Policies:
    """The policies of one function's values."""

    by_name: Mapping[str, Policy]
    """By `Var.source`; ``f/%*`` stands for all values of ``@f``."""

    default: Policy

    @classmethod
    def of(cls, function: Function, default: Policy) -> Policies:
        """Return what ``function`` says, and ``default`` for the rest."""
        named = {name: p for attr, p in _LISTS.items() for name in _names(function, attr)}
        own = function.attrs.get(POLICY)
        return cls(named, default if own is None else Policy(str(own)))

    def policy(self, var: Var) -> Policy:
        """Return the policy of the value that ``var`` holds first."""
        source = var.source or ""
        whole = f"{source.partition('/%')[0]}/%*"
        return self.by_name.get(source) or self.by_name.get(whole) or self.default

    @property
    def refuses(self) -> bool:
        """Whether any value may have policy ``error``."""
        return self.default is Policy.ERROR or Policy.ERROR in self.by_name.values()


def _names(function: Function, attr: str) -> tuple[str, ...]:
    found = function.attrs.get(attr, ())
    assert isinstance(found, tuple)
    return tuple(map(str, found))


def qualified(function: Function) -> Function:
    """Return ``function`` with the values that its policies name written in full.

    Raises:
        CompileError: A policy is unknown, a name is, or a value has two policies.
    """
    attrs = function.attrs
    if not any(name == POLICY or name.startswith(f"{POLICY}.") for name in attrs):
        return function
    problems = list(_problems(function))
    if problems:
        raise CompileError(*problems)
    written = {attr: tuple(_full(function, n) for n in _names(function, attr)) for attr in _LISTS}
    return replace(function, attrs=attrs.with_(**{a: n for a, n in written.items() if n}))


def _full(function: Function, name: str) -> str:
    return name if "/%" in name else f"{function.name}/%{name.removeprefix('%')}"


def _problems(function: Function) -> Iterator[Diagnostic]:
    known = [v.name for v in (*function.params, *rewrite.bound(function.body))]
    policies = [p.value for p in Policy]
    own = function.attrs.get(POLICY)
    if own is not None and own not in policies:
        yield catalog.unknown_policy(str(own), policies)
    for attr in function.attrs:
        if attr.startswith(f"{POLICY}.") and attr not in _LISTS:
            yield catalog.unknown_policy(attr.partition(".")[2], policies)
    seen: dict[str, str] = {}
    for attr in _LISTS:
        if not isinstance(function.attrs.get(attr, ()), tuple):
            yield catalog.policy_names(attr, function.span)
            continue
        for name in _names(function, attr):
            yield from _wrong_name(function, name, known)
            first = seen.setdefault(_full(function, name), attr)
            if first != attr:
                yield catalog.contradicting_policy(name, first, attr, function.span)


def _wrong_name(function: Function, name: str, known: Sequence[str]) -> Iterator[Diagnostic]:
    owner, separator, own = name.rpartition("/%")
    own = own.removeprefix("%")
    if not (separator and owner != function.name) and own != "*" and own not in known:
        yield catalog.undefined_variable(
            own, function.span, "a policy names a value of its function"
        )


def inherited(caller: Function, callee: Function) -> Function:
    """Return ``caller`` with the policies of what ``callee``, which it swallows, says of values."""
    lists = {attr: dict.fromkeys(_names(caller, attr)) for attr in _LISTS}
    for attr in _LISTS:
        lists[attr].update(dict.fromkeys(_names(callee, attr)))
    own = callee.attrs.get(POLICY)
    if own is not None:
        lists[f"{POLICY}.{own}"][f"{callee.name}/%*"] = None
    written = {attr: tuple(names) for attr, names in lists.items() if names}
    return replace(caller, attrs=Attrs({**caller.attrs, **written})) if written else caller


__all__ = ["POLICY", "Policies", "inherited", "qualified"]
