"""Machine code in this process: LLVM IR compiled, kept on disk, and linked."""
