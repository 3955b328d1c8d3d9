"""Options of the project's own tests. The plugin itself is loaded by its entry point."""

pytest_plugins = ["pytester"]
