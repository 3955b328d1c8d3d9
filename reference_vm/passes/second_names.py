"""Second names: bindings that only name what has a name already.

``%y = %x`` is one, ``%y: f32[4] @accel = %x`` is one only where ``%x`` is pinned there too; else
``%y`` is a value of its own, moved from the one it names (`planning.md` section 2, rule 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from reference_vm.ir.nodes import Alias, Binding, Var
from reference_vm.types import tensors


def moves_nothing(binding: Binding) -> bool:
    """Whether ``binding``, an alias, says nothing of where the value is that it names."""
    assert isinstance(binding.value, Alias)
    if binding.request is not None:
        return False
    named, source = binding.var.type, binding.value.var.type
    if named is source:
        return True
    assert named is not None
    assert source is not None
    pairs = zip(tensors(named), tensors(source), strict=True)
    return all(own.vdevice in (None, other.vdevice) for own, other in pairs)


@final
@dataclass
class FirstNames:
    """The first name of each value that has several."""

    first: dict[Var, Var] = field(default_factory=dict)

    def of(self, var: Var) -> Var:
        """Return the first name of what ``var`` names."""
        return self.first.get(var, var)

    def learn(self, binding: Binding) -> None:
        """Remember what ``binding`` names."""
        if isinstance(binding.value, Alias) and moves_nothing(binding):
            self.first[binding.var] = self.of(binding.value.var)


__all__ = ["FirstNames", "moves_nothing"]
