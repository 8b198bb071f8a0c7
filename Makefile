# Two commands are enough: `make demo` shows what plre does, `make test` checks it.
# Each makes its own virtual environment first; all it needs is Python 3.11 or newer.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint types bench clean

demo: $(VENV)/.demo
	@$(BIN)/plre demo

test: $(VENV)/.test lint types
	@$(BIN)/python -m pytest

lint: $(VENV)/.test
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/.test
	@$(BIN)/mypy

# KenLM takes part if its lmplz, build_binary and query are on PATH.
bench: $(VENV)/.demo
	@$(BIN)/python -m benchmarks

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "plre needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "making the virtual environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# A stamp file for each set of dependencies; a changed pyproject.toml installs again.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "installing plre"
	@$(PIP) -e . && touch $@

# The kenlm module, which some tests compare with, has to be compiled; they are skipped without it.
$(VENV)/.test: pyproject.toml | $(BIN)/python
	@echo "installing plre and what its tests need"
	@$(PIP) -e '.[test]'
	@$(PIP) kenlm >/dev/null 2>&1 || echo "the kenlm module could not be built: tests that compare with it are skipped"
	@touch $@

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache
