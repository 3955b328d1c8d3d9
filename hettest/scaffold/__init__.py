"""Writes the package that a new backend begins as; it runs at once, and is then changed."""
