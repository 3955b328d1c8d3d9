"""The pytest plugin: options, fixtures and markers."""
