"""The commands, one module each: ``NAME``, ``HELP`` and ``run``."""
