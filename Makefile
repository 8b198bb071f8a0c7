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

bench: $(VENV)/.bench
	@$(BIN)/python -m benchmarks

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "plre needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "making the virtual environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# One stamp file for each set of dependencies; a changed pyproject.toml installs again.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "installing plre"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e . && touch $@

$(VENV)/.test $(VENV)/.bench: $(VENV)/.%: pyproject.toml | $(BIN)/python
	@echo "installing plre[$*]"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]' && touch $@

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache
