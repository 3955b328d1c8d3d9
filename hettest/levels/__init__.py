"""Which level a run reached for which profile, and what it covered."""
