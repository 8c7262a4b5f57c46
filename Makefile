# Every target does its own set-up; a second run installs nothing. `make demo` and `make test` are all you need.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
UV ?= uv
BIN := .venv/bin

.PHONY: help setup setup-dev demo test test-far fuzz fuzz-histories fuzz-kills check lint format lock clean

help: ## Show the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | column -t -s $$'\t'

setup: ## Install everything that Strom needs to run (the command is then .venv/bin/strom)
	@scripts/setup

setup-dev: ## The same and what the tests need
	@scripts/setup --dev

demo: setup ## Run everything with simulated meters; flags: make demo ARGS="--for 60"
	@$(BIN)/strom demo $(ARGS)

test: setup-dev lint ## Pass all checks and tests, the cheap ones first
	@scripts/test $(ARGS)

fuzz: setup-dev ## Run the property tests with many random examples instead of the usual fixed ones
	@scripts/test --hypothesis-profile=fuzz --timeout=3600 -m "not stack and not far" $(ARGS)

fuzz-histories: setup-dev ## Take thousands of new random histories through the pipeline; flags: make fuzz-histories ARGS="--histories 300"
	@scripts/test -q tests/pipeline/test_histories.py --history-seeds random:14 $(ARGS)

test-far: setup-dev ## The tests on three brokers and a Spark cluster, and those of 5,000 meters at once; they take many minutes
	@scripts/test -q -m far tests $(ARGS)

fuzz-kills: setup-dev ## Kill processes at random moments, with new seeds; flags: make fuzz-kills ARGS="--kill-seeds random:20"
	@scripts/test tests/e2e/test_far.py -k kills --timeout=7200 --kill-seeds random:5 --kill-rounds 2 $(ARGS)

check: setup-dev lint ## Check style, types, imports and docs
	@scripts/test --docs-only

lint: setup-dev
	@scripts/lint

format: setup-dev ## Bring the code into the house's form
	@$(BIN)/ruff check --fix --quiet src tests
	@$(BIN)/ruff format src tests

lock: ## Choose versions anew: requirements/*.in to *.txt (needs uv)
	@UV=$(UV) scripts/lock

clean: ## Remove what set-up and tests made; .strom (your data) stays
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache spark-warehouse
