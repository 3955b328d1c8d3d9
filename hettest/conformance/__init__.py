"""Conformance reports that others can check: made, packed, signed, verified, compared.

A report is a folder, or the one archive it is packed into. Its manifest names every file with its
digest; the digest of the manifest stands for all of it, and is what a signature is over.
"""
