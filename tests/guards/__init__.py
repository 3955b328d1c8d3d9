"""Plugins that hold the project's own tests: what they may touch, and which may be skipped."""
