# Everything a fresh clone needs is make, Python 3.11 or newer, and a package index.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help setup demo test check lint imports types mypy pyright format bench conformance clean

help:  ## Say what there is
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## Make .venv with remit, its extras and its tools

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "remit needs Python 3.11 or newer; say which: make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing remit and its tools into .venv (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all,dev]'
	@touch $@

demo: $(READY)  ## Run the blog's story through a real MCP client
	@$(BIN)/python -m examples.blog.demo

test: $(READY)  ## Run all tests; ARGS='-k name' for some
	@$(BIN)/pytest -n 2 $(ARGS)

check: lint imports types  ## Lint, format, imports, dependencies, types

lint: $(READY)
	$(BIN)/ruff check --output-format concise
	$(BIN)/ruff format --check

imports: $(READY)
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/deptry src

types: mypy pyright

mypy: $(READY)
	$(BIN)/mypy

pyright: export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1
pyright: $(READY)
	$(BIN)/pyright
	@# It asks the python on the path where remit is, whatever the settings say.
	PATH="$(CURDIR)/$(BIN):$$PATH" pyright --ignoreexternal --verifytypes remit

format: $(READY)  ## Let ruff mend what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY)  ## Measure against bare pydantic, mcp and FastMCP, and write benchmarks/results.md
	@$(BIN)/python -m benchmarks

conformance: $(READY)  ## Run the official MCP conformance suite (brings its own Node)
	@$(BIN)/python conformance/run.py

clean:  ## Remove what the other targets made
	rm -rf .venv .conformance .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
