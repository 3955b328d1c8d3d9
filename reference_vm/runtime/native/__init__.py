"""The native executor: the bytecode as integers, and a loop in machine code that runs them.

The interpreter (`runtime.machine`) says what bytecode means; this executor does the same, faster,
and a session runs it unless it is asked not to. How it is made:

* `layout` says where everything stands in memory: in words of 64 bits.
* `translation` turns each instruction of the bytecode into one of `opcodes`; `disassembly` prints
  them.
* `loop` is the loop, written in the language of `jit.words`.
* `forms` gives each dtype and shape one address, so that two tensors are of one form if a word is
  equal; `plans` keeps what a kernel needs for operands of given forms; an *instance*
  (`program`) keeps what a function's symbols decide: sizes, forms, and the plan that each launch
  found last.
* `cells` are values of data types and closures; `makers` what they are made by, and `trees` how
  values lie in slots.
* `values` takes values between the loop and Python, and `leaving` does what the loop leaves: the
  interpreter's own step does that one instruction, and the loop goes on.
* `executor` runs a function; `path` makes the trace from the way that the run took.

Nothing raises in machine code. What is not as the loop knows it (an error, a shape seen for the
first time, another device) is left to Python, and found at its place the next time if it is one of
the things that are remembered.
"""
