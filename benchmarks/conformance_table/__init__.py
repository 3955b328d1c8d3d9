"""Runs the corpus on other people's engines and writes what came of it as pages of the docs."""
