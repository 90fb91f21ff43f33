# Everything works on a fresh clone: what a target needs, it installs into .venv first.
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help run test bench install check lint format lock audit screenshots

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

run: .venv/.ok  ## Relay with its database, a worker and a demo team (PORT=5000); Ctrl-C stops all
	@exec $(BIN)/python -m relay_web up --demo $(if $(PORT),--port $(PORT))

test: .venv/.ok  ## every test (ARGS="tests/store -k claim" for some)
	@.ci/chromium
	@$(BIN)/python -m pytest -q -n auto --maxprocesses 4 $(ARGS)

bench: .venv/.ok  ## the figures, one a line: name value unit target ok|short
	@$(BIN)/python -m bench $(ARGS)

install: .venv/.ok  ## .venv with everything, nothing started

check: lint test  ## what continuous integration runs

lint: .venv/.ok  ## format, lint, types and import contracts
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit -q -c pyproject.toml -r relay_web

format: .venv/.ok  ## bring the code into its form
	$(BIN)/ruff format -q .
	$(BIN)/ruff check -q --fix .

COMPILE = $(BIN)/uv pip compile -q --universal --generate-hashes --no-annotate --no-emit-index-url \
	--python-version 3.11 --custom-compile-command "make lock" pyproject.toml

lock: .venv/.ok  ## requirements*.txt anew from pyproject.toml (ARGS=--upgrade for newer versions)
	$(COMPILE) $(ARGS) -o requirements.txt
	$(COMPILE) $(ARGS) --group dev -o requirements-dev.txt

audit: .venv/.ok  ## known vulnerabilities among the locked packages (asks the network)
	@.ci/audit

screenshots: .venv/.ok  ## pictures of every page, narrow and wide, light and dark
	@.ci/chromium
	@$(BIN)/python -m pytest -q tests/browser -k picture $(ARGS)

.venv/.ok: requirements-dev.txt .ci/install
	@.ci/install
