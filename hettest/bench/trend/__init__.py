"""How benchmarks went over many runs: where they changed for good, and a page that shows it."""
