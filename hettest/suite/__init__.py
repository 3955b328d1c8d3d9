"""The conformance corpus as tests: ``pytest --pyargs hettest.suite --devices=cpu,sim``."""
