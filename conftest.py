"""Plugins of the project's own tests. The plugin that is tested is loaded by its entry point."""

pytest_plugins = ["pytester", "tests.guards.file_access", "tests.guards.skips"]
