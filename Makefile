# Every target does its own set-up: a machine with Python 3.11 (or newer) and make needs nothing else.
#   make test PYTHON=python3.13     another Python
#   make oracle SHARED=../shared    where the conformance and casebook tools are

PYTHON ?= python3
SHARED ?= ../shared
# The least share (percent) of everyday ops that must agree with PyTorch, at every level.
FLOOR ?= 95

python := .venv/bin/python
oracle := .venv-oracle/bin/python
bench := $(if $(wildcard .venv-oracle/oracle.stamp),$(oracle),$(python))
install := -m pip install --quiet --disable-pip-version-check --editable
casebook := $(SHARED)/casebook
conformance := $(SHARED)/conformance/opinfo_conformance.py
# Where npm is, axe-core checks the page's accessibility too. It is no part of Lamina.
axe := .venv/axe/package/axe.min.js
axe_version := 4.14.1
comma := ,
# Tests of one file stay together: some files prepare what all of theirs need.
in_parallel := -q -n auto --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help demo test check bench oracle browser clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/test.stamp ## the leaf rules, then a classifier trained on handwritten digits
	@.venv/bin/lamina demo

test: .venv/test.stamp ## all tests that need no PyTorch, and every example in a docstring
	@$(python) -m pytest $(in_parallel)

check: .venv/check.stamp ## lint, formatting, types, and a report of sizes
	@$(python) -m ruff check
	@$(python) -m ruff format --check
	@$(python) -m mypy
	@$(python) tests/test_layers.py

bench: .venv/test.stamp ## timings; beside PyTorch's once `make oracle` has installed it
	@for script in $(sort $(wildcard benchmarks/[a-z]*.py)); do \
	    echo "== $$script"; $(bench) $$script || exit 1; \
	done
	@echo "== lamina bench"; $(bench) -m lamina.cli bench

oracle: .venv-oracle/oracle.stamp ## compare with the real PyTorch (installs it in .venv-oracle)
	@$(oracle) -m pytest $(in_parallel) tests/oracle tests/codegen tests/compiler
ifneq ($(wildcard $(casebook) $(conformance)),)
	@for cases in founding reports; do \
	    echo "== casebook: $$cases"; \
	    LAMINA_CUDA=simulated PYTHONDONTWRITEBYTECODE=1 $(oracle) $(casebook)/run.py \
	        $(casebook)/$$cases.json --module lamina --messages --device cuda || exit 1; \
	done
	@echo "== conformance: everyday ops, all levels"
	@rm -f .venv-oracle/conformance.json
# Its exit status is 1 when any op differs; the floor is the judge here, and needs the report.
	@PYTHONDONTWRITEBYTECODE=1 $(oracle) $(conformance) --module lamina --tier 1 --level all \
	    --jobs 2 --report .venv-oracle/conformance.json || true
	@$(oracle) .ci/floor.py .venv-oracle/conformance.json $(FLOOR)
else
	@echo "left out: casebook and conformance (no folder $(SHARED))"
endif

browser: .venv/browser.stamp ## the graph page in a real browser (needs Chromium and its chromedriver)
	@LAMINA_BROWSER=1 AXE_CORE=$(axe) $(python) -m pytest -q tests/browser

clean: ## remove what the other targets made
	@rm -rf .venv .venv-oracle build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find lamina tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# An environment is made anew when pyproject.toml changes. The base executable is asked for because
# PYTHON may be the one of the very environment that is about to be replaced.
define new_environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Lamina needs Python 3.11 or newer: make PYTHON=python3.12")'
	@echo "setting up $(1) (once)"
	@"$$($(PYTHON) -c 'import sys; print(sys._base_executable)')" -m venv --clear $(1)
	@$(1)/bin/python $(install) '.[$(2)]'
	@touch $@
endef

.venv/test.stamp: pyproject.toml
	$(call new_environment,.venv,test)

.venv/check.stamp: .venv/test.stamp
	@$(python) $(install) '.[dev]'
	@touch $@

.venv/browser.stamp: .venv/test.stamp
	@$(python) $(install) '.[browser]'
	@if command -v npm >/dev/null; then \
	    mkdir -p .venv/axe && cd .venv/axe && npm pack --silent axe-core@$(axe_version) >/dev/null \
	    && tar xzf axe-core-*.tgz || echo "left out: axe-core (npm could not fetch it)"; \
	else echo "left out: axe-core (no npm)"; fi
	@touch $@

.venv-oracle/oracle.stamp: pyproject.toml
	$(call new_environment,.venv-oracle,test$(comma)oracle)
