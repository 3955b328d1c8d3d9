"""A backend that does one thing otherwise than it says reaches no level that asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from hettest.levels.profile import Profile
from tests.unit.hettest.faulty import FAULTS
from tests.unit.hettest.test_cli import hettest

UNASKED: Final = ("none", "drops-an-operator", "unsigned-zeros")
"""What takes nothing from the small profile: none of its items negates, or asks for a sign."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_level_is_reached_by_a_sound_backend_alone(
    tmp_path: Path, profile: Profile, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    backend = f"tests.unit.hettest.faulty:Faulty:fault={fault}"
    asked = (f"--backend={backend}", f"--profile={profile.name}", f"--require={profile.name}:L3")

    code = hettest(monkeypatch, "conformance", "run", f"--out={tmp_path / 'out'}", *asked)

    assert (code == 0) is (fault in UNASKED)
