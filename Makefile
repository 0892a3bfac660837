# `make audit` and `make test` set everything up by themselves, from the pinned lock file, into .venv.
PYTHON ?= python3.11
BIN := .venv/bin
READY := .venv/.ready
SITE_LOCK := docs/site/requirements.lock
SITE_READY := .venv-site/.ready
VISION_READY := .venv-vision/.ready
SITE_DIR ?= site
PYTEST_WORKERS ?= 3

.DEFAULT_GOAL := help
.PHONY: help setup audit night test check unit test-slow test-mirror test-services format docs stage-lock site benchmarks release clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*## "} {printf "  make %-14s %s\n", $$1, $$2}'

setup: $(READY)  ## install the pinned set into .venv

$(READY): requirements.lock pyproject.toml tools/install_pinned.sh
	@command -v $(PYTHON) >/dev/null || { echo "Assay needs Python 3.11 or newer as $(PYTHON); say which with make PYTHON=..."; exit 2; }
	$(PYTHON) -m venv .venv
	tools/install_pinned.sh
	@touch $(READY)

audit: $(READY)  ## audit a network on embedded pictures, the whole chain in small, and say where the report is
	$(BIN)/assay run first-night

night: $(READY)  ## run the two whole nights on embedded data, pictures and texts, and say where their time went
	$(BIN)/assay run lesions-night
	$(BIN)/assay report lesions-night --times
	$(BIN)/assay run reviews-night
	$(BIN)/assay report reviews-night --times

test: $(READY) check unit  ## everything CI runs: lint, types, import contract, stage versions, tests

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tools
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/stage_lock.py --check

# Where Python is told to write no bytecode, each of a hundred processes would compile the product anew.
unit: $(READY) $(VISION_READY)
	$(BIN)/python -m compileall -q assay/__init__.py infra data tasks flows tests/support
	.venv-vision/bin/python -m pytest -q tests/vision
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadgroup -m "not slow and not services" -q

# timm and torchvision, in an environment of their own that sees .venv: tests/vision/install.sh says why.
$(VISION_READY): $(READY) tests/vision/requirements.txt
	tests/vision/install.sh
	@touch $(VISION_READY)

test-slow: $(READY)  ## the tests that take minutes
	$(BIN)/python -m pytest -m slow -q

test-mirror: $(READY)  ## the tests on the catalogue's real data; needs ASSAY_MIRROR
	$(BIN)/python -m pytest -m mirror -q

test-services: $(READY)  ## nights on PostgreSQL, Prefect's server, Dask with TLS and S3, each of which fails in the middle
	tests/services/install.sh
	.venv-services/bin/python -m pytest -m services -q tests/services

format: $(READY)  ## write the code as ruff wants it
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

docs: $(READY)  ## write docs/pipelines.md anew from the settings models
	$(BIN)/python tools/documentation.py

site: $(SITE_READY)  ## the documents as a site in site/, to be opened from the disk; a dead link fails
	NO_MKDOCS_2_WARNING=1 .venv-site/bin/mkdocs build --quiet --site-dir $(SITE_DIR)
	@echo "$(SITE_DIR)/index.html"

# An environment of its own: who uses Assay installs none of this.
$(SITE_READY): $(SITE_LOCK)
	$(PYTHON) -m venv .venv-site
	.venv-site/bin/python -m pip install --quiet --disable-pip-version-check -r $(SITE_LOCK)
	@touch $(SITE_READY)

stage-lock: $(READY)  ## after a change of stage code: REASON="same results because …", or bump the stage's version first
	$(BIN)/python tools/stage_lock.py --update $(if $(REASON),--same-results "$(REASON)")

benchmarks: $(READY)  ## side by side with the tools a user would otherwise pick
	$(BIN)/python -m benchmarks

release:  ## sdist, wheel, hashes and notes in dist/, checked by twine; HOME_URL=https://… goes into the metadata
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --disable-pip-version-check build "setuptools>=77" twine
	.venv-release/bin/python .ci/release.py $(HOME_URL)

clean:  ## remove what was built, but not the store
	rm -rf .venv .venv-site .venv-services .venv-vision .venv-release site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
