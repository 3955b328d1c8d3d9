"""Does every instruction get values that it can work with?

A walk over each function, in the order of its instructions since jumps only go forward, knows what
every register holds (`held`). It says where a register is empty or holds something else than what
is read; where a kernel gets or makes another type than its primitive function has; and where a
tensor does not lie inside its storage.

What only a run can tell is counted as a doubt. The indices into the tables are checked before
(`verifier`), the use of memory afterwards (`memory_check`).
"""
