# make run    the window          make test   every check          make bench   measured figures
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
ARGS   ?=

.PHONY: run test bench exactness prove fetch clean

run: $(VENV)/.ready
	@$(BIN)/python main.py $(ARGS)

test: $(VENV)/.ready-dev
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python main.py fetch
	@QT_QPA_PLATFORM=offscreen OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

bench: $(VENV)/.ready-dev
	@$(BIN)/python main.py fetch
	@$(BIN)/python -m tests.bench $(ARGS)

exactness: $(VENV)/.ready-dev
	@$(BIN)/python main.py fetch
	@$(BIN)/python -m tests.exactness $(ARGS)

prove: $(VENV)/.ready
	@$(BIN)/python main.py fetch
	@$(BIN)/python main.py prove --full $(ARGS)

fetch: $(VENV)/.ready
	@$(BIN)/python main.py fetch

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The environment is made once and again whenever what it is made from changes.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else f"SpecScope needs Python 3.11, 3.12 or 3.13, but $(PYTHON) is {v[0]}.{v[1]}. Name another one: make PYTHON=python3.11 ...")'
	@echo "Making the virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { echo "The virtual environment could not be made; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.ready: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing the pinned dependencies (some hundred MB; once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
