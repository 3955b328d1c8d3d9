"""The rules of `ir.verify`, one module each: what a program must be before anything knows it."""
