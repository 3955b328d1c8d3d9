# `make run`: real models and the corpus, checked.  `make test`: the tests.  `make bench`: the
# benchmarks, as one table.  `make check`: format, lint, strict types, import layers.  Each sets up
# .venv from nothing but Python 3.11 or later.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test bench check format docs clean

# One thread of the linear algebra library: the oracle itself evaluates on two.
run: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.real_models.main

test: $(READY)
	$(BIN)/python -m pytest -n 2 -q

bench: $(READY)
	$(BIN)/python -m benchmarks

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(READY)
	$(BIN)/pip install --quiet -e '.[docs]'
	$(BIN)/mkdocs build --strict

clean:
	rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "found Python %d.%d, expected 3.11 or later: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet -e '.[dev]'
	@touch $(READY)
