"""A compiled program, in memory and on disk."""
