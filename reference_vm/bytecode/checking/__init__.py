"""Does every instruction get values that it can work with, in memory that is still there?

A walk over each function, in the order of its instructions since jumps only go forward, knows what
every register holds (`held`) and which memory was given back (`lives`). It says where a register is
empty or holds something else than what is read; where a kernel gets or makes another type than its
primitive function has; where a tensor does not lie inside its storage; and where memory is read
after it was given back.

What only a run can tell (a dim, which of two memories a branch chose) is left to the run's own
checks. The indices into the tables are checked before (`verifier`).
"""
