"""The command ``hettest``."""
