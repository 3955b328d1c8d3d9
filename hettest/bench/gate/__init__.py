"""A gate: whether the benchmarks of a change may pass, beside a baseline."""
