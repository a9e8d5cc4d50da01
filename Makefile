# `make demo` and `make test` are all that a fresh machine needs: Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: torch-cpu demo test lint types check deep oldest fuzz docs tables linkcheck hostile faults compare system-solvers system-browser bench clean

# Installed once, and again when the dependencies change: what running needs, and what tests need.
# uv finds versions that go together in a second, where pip takes two minutes; where it cannot reach
# an index that pip is set up for, pip does.
INSTALL = with() { VIRTUAL_ENV=$(VENV) UV_SYSTEM_CERTS=1 $(BIN)/uv pip install --quiet --editable "$$1" \
  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable "$$1"; }; with

$(VENV)/runs: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "mipselect needs Python 3.11 or newer; try: make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(INSTALL) .
	@touch $@

$(VENV)/installed: $(VENV)/runs
	$(INSTALL) '.[dev]'
	@touch $@

# PyTorch without a GPU, for the tests of devices, which are skipped where it is not there: found
# where pip looks for packages, or else where its authors keep it.
TORCH = torch==2.13.0+cpu
torch-cpu: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '$(TORCH)' \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check '$(TORCH)' \
	    --retries 0 --timeout 20 --extra-index-url https://download.pytorch.org/whl/cpu

demo: $(VENV)/runs
	@$(BIN)/python -m mipselect solve diabetes
	@$(BIN)/python -m mipselect release diabetes --epsilon 5
	@$(BIN)/python -m mipselect solve paper-p100
	@$(BIN)/python -m mipselect release paper-p100 --epsilon 1

test: lint types check

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python docs/prose.py
	$(BIN)/python docs/budgets.py

# Tests run on Linux and macOS; that no name is missing on Windows is known from types.
types: $(VENV)/installed
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32

# As many tests at once as there are cores, so each with one thread. Without deep ones: five minutes
# of two cores.
check: $(VENV)/installed
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto

# Every test, deep ones too, and forty faults that `make test` must notice: half an hour.
deep: $(VENV)/installed
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto -m ""
	$(BIN)/python -m tests.soak.mutations

# The tests with the oldest versions that pyproject.toml claims, in an environment of their own. These
# have packages for Python 3.11, and may warn of what newer versions no longer have.
oldest:
	$(PYTHON) -m venv --clear $(VENV)/oldest
	$(VENV)/oldest/bin/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=$(VENV)/oldest $(VENV)/oldest/bin/uv pip install --quiet --resolution lowest-direct \
	  --editable '.[dev]'
	OMP_NUM_THREADS=1 $(VENV)/oldest/bin/pytest --numprocesses auto -W ignore::DeprecationWarning

# The tests that draw their examples, with new examples and twenty times as many.
fuzz: $(VENV)/installed
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --hypothesis-profile fuzz -m hypothesis

# The site, with its reference and gallery, into docs/_build/html: any warning is an error.
docs: $(VENV)/with-docs
	$(BIN)/python docs/figures/draw.py
	$(BIN)/python -m docs.written_tables
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# The tables of the manual, from the stored results of benchmarks; the tests compare the two.
tables: $(VENV)/installed
	$(BIN)/python -m docs.written_tables

# Every address that the site names, asked for: needs the network.
linkcheck: $(VENV)/with-docs
	$(BIN)/sphinx-build -b linkcheck docs docs/_build/linkcheck

$(VENV)/with-docs: $(VENV)/installed
	$(INSTALL) '.[dev,docs]'
	@touch $@

# Every case of bad input and hostile surroundings on the command line.
hostile: $(VENV)/installed
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto -m "" tests/cli/test_hostile_commands.py

# Ten thousand processes killed while they charge a ledger, and what came of it: four minutes.
faults: $(VENV)/installed
	$(BIN)/python -m tests.soak.ledger_faults

# Every solver that is installed on small instances, with its masters.
compare: $(VENV)/installed
	$(BIN)/mipselect compare tiny-plain tiny-active-norm diabetes
	$(BIN)/mipselect compare tiny-duplicates paper-p100 tests/solvers/correlated.toml

# Programs that are no Python packages, where apt can install them; says what it skips.
system-solvers: SYSTEM = coinor-cbc:cbc glpk-utils:glpsol
# For the tests of pages.
system-browser: SYSTEM = chromium:chromium chromium-driver:chromedriver
system-solvers system-browser:
	@for package in $(SYSTEM); do \
	  name=$${package%%:*}; program=$${package##*:}; \
	  if command -v $$program >/dev/null; then echo "$$name: there"; \
	  elif ! command -v apt-get >/dev/null; then echo "$$name: skipped, no apt-get here"; \
	  elif DEBIAN_FRONTEND=noninteractive timeout 300 sh -c "apt-get install --yes $$name \
	    || { apt-get update && apt-get install --yes $$name; }" >/dev/null 2>&1; then \
	    echo "$$name: installed"; \
	  else echo "$$name: skipped, apt-get could not install it (needs root and a package list)"; \
	  fi; \
	done

# Times every usable solver; `python -m benchmarks --list` names more.
bench: $(VENV)/installed
	$(BIN)/python -m benchmarks search setting=0,1,3,4

clean:
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/reference/generated *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
