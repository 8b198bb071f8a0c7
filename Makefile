# Two commands are enough: `make demo` shows what plre does, `make test` checks it.
# Each makes its own virtual environment first; all it needs is Python 3.11 or newer.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Decoders of speech recognition, one of which needs an older numpy.
DECODERS ?= .venv-decoders

.PHONY: demo test lint types bench experiments wheel clean

demo: $(VENV)/.demo
	@$(BIN)/plre demo

test: $(VENV)/.test $(DECODERS)/.ready lint types
	@$(BIN)/python -m pytest -n auto --dist loadfile
	@test ! -s $(DECODERS)/.ready || $(DECODERS)/bin/python -m pytest -p no:cacheprovider tests/integrations

lint: $(VENV)/.test
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/.test
	@$(BIN)/mypy

# All of docs/benchmarks.md, which takes hours; `make bench ONLY="train size"` measures these sections again, and
# `make bench ONLY=--resume` goes on where the last run stopped. PLRE_BENCH_QUICK=1 only tries it on little text.
# KenLM takes part if its lmplz, build_binary and query are on PATH, IRSTLM if its tlm is.
bench: $(VENV)/.bench
	@$(BIN)/python -m benchmarks $(ONLY)

# The paper's tables and figures on the corpora beside the project: hours, but it goes on where it was stopped. The
# log-bilinear model needs PyTorch: pip install 'plre[neural]', then python -m experiments.lbl.
experiments: $(VENV)/.demo
	@for name in table1 figure ranks classes pruning table2 table3 beyond adapt research; do $(BIN)/python -m experiments.$$name || exit 1; done

# Into dist/: the wheel with sources only, and one for this Python that brings machine code, which is then installed into
# a new environment and measured.
wheel: $(VENV)/.wheel
	@$(BIN)/python -m tools.wheels dist
	@for made in $$(ls -t dist/*manylinux*.whl 2>/dev/null | head -n 1); do $(BIN)/python -m tools.check_wheel $$made; done

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

# The stamp is empty if they cannot be installed here: then they are not tested.
$(DECODERS)/.ready: pyproject.toml | $(BIN)/python
	@echo "installing decoders, with which models are tested"
	@$(BIN)/python -m venv $(DECODERS)
	@if $(DECODERS)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[decoders]' pytest hypothesis kenlm \
	  >/dev/null 2>&1; then echo yes >$@; else echo "the decoders could not be installed: they are not tested"; : >$@; fi

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	@echo "installing plre and what its benchmarks need"
	@$(PIP) -e '.[bench]' >/dev/null 2>&1 || { $(PIP) -e '.[plot]' scikit-learn && \
	  echo "the kenlm module could not be built: benchmarks go without it"; }
	@touch $@

$(VENV)/.wheel: pyproject.toml | $(BIN)/python
	@echo "installing plre and what building wheels needs"
	@$(PIP) -e . wheel && touch $@

clean:
	rm -rf $(VENV) $(DECODERS) dist build .pytest_cache .mypy_cache .ruff_cache
