PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Without compiled files every command would compile the package anew, which takes a second.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup system setup-cluster setup-trackers run test test-all test-cluster test-cluster-short format lint type bench zoo dist clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## Make .venv with locked dependencies and everything a developer needs

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "brittlestar needs Python 3.11 or later: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

run: setup ## Sweep FetchReach under observation noise, P controller and learned policy: table, plot, page, three films
	$(BIN)/brittlestar -m experiment=fetch_reach_observation policy=p_controller,zoo/fetch_reach_sac_0 videos=1 hydra.sweep.dir=multirun/fetch_reach_observation

test: setup ## Fast tests
	$(BIN)/python -m pytest -q -n 2

test-all: setup setup-trackers ## All tests, also the slow ones
	$(BIN)/python -m pytest -q -n 2 -m "not cluster"

test-cluster: setup-cluster ## Fault tests on a real Slurm and a real Ray, set up on this machine (Debian, root)
	$(BIN)/python -m pytest -q -m "cluster or slow" tests/cluster tests/sweeps/test_fault_matrix.py

test-cluster-short: setup-cluster ## The part of the cluster tests that takes two minutes
	$(BIN)/python -m pytest -q -m "cluster and short" tests/cluster

system: ## Install the system packages that cameras and tests of the page need (Debian, root)
	scripts/install_system.sh

setup-trackers: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-trackers.lock

setup-cluster: setup
	scripts/install_cluster.sh
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-cluster.lock

format: setup ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: setup ## Check style, and that rooms import only from rooms below them
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

type: setup ## Check types
	$(BIN)/mypy

bench: setup ## Print speed ratios, measured in one run on this machine
	$(BIN)/brittlestar bench

zoo: setup ## Train all policies of the zoo by their recipes: hours; finished ones are skipped, the same command goes on
	$(BIN)/brittlestar zoo train --all

dist: setup ## Build wheel and sdist, install the wheel outside the checkout and run it there
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	BRITTLESTAR_DIST=$(CURDIR)/dist $(BIN)/python -m pytest -q -m slow tests/test_wheel.py

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache dist
