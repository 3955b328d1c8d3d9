"""Values against the oracle."""

from hettest.judge.judging import judge
from hettest.judge.verdict import Check, Status, Verdict

__all__ = ["Check", "Status", "Verdict", "judge"]
