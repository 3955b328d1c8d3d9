"""The target ``numba``: kernels made of loop nests, compiled by LLVM as numba ships it."""
