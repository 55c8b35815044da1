# Two commands: make book, make test. Each makes .venv from requirements.txt when it is missing.
PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
PY := $(VENV)/bin/python
PINS := $(shell cat requirements.txt pyproject.toml | cksum | cut -d' ' -f1)
STAMP := $(VENV)/.pins-$(PINS)
NOTEBOOKS = $(shell $(PY) -c "import sys; sys.path.insert(0, 'tools'); from contents import ROOT, in_toc; print(*(p.relative_to(ROOT) for p in in_toc()))")
NBVAL := --nbval --nbval-current-env --nbval-sanitize-with tests/nbval_sanitize.cfg --nbval-cell-timeout 600

.DEFAULT_GOAL := help
.PHONY: help book test lint notebooks stored quick lab bench canary dist clean env chromium

help:
	@echo "make book    install, run the chapters, build the site"
	@echo "make test    install, then every check"
	@echo "make quick   the figure of the chapter on robustness, no book"
	@echo "make lab     open the chapters in JupyterLab"
	@echo "make bench   speed and memory"
	@echo "make canary  the newest versions of the packages, from the network"
	@echo "make dist    the built site as dist/book.zip"
	@echo "make clean   remove what was built; .venv stays"

env: $(STAMP)

$(STAMP):
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed; set PYTHON=python3.11')"
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "Installing the pinned packages; the first time takes some minutes."
	$(PY) -m pip install -qq -r requirements.txt
	$(PY) -m pip install -qq --no-deps --no-build-isolation -e .
	rm -f $(VENV)/.pins-*
	touch $(STAMP)

book: $(STAMP)
	$(PY) tools/book.py build

test: $(STAMP) lint stored notebooks
	$(PY) -m pytest -n $(WORKERS) --dist loadfile --doctest-modules pidlib tests

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m codespell_lib

stored: $(STAMP)
	$(PY) tools/book.py stored

# The chapters never see the reader's own data folder. One thread each: the workers are two.
notebooks: $(STAMP)
	env -u PIDLIB_DATA_DIR HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=1 \
	  $(PY) -m pytest -n $(WORKERS) --dist loadfile $(NBVAL) $(NOTEBOOKS)

quick: $(STAMP)
	$(PY) tools/quick.py

lab: $(STAMP)
	$(PY) -m jupyter lab --notebook-dir=notebooks

bench: $(STAMP)
	$(PY) -m pidlib bench

# PYTHONS="python3.12 python3.13" chooses which; by default those that are on the path.
canary: $(STAMP)
	$(PY) tools/canary.py $(PYTHONS)

dist: book
	$(PY) tools/book.py dist

chromium:
	tools/chromium.sh

clean:
	rm -rf _build dist .pytest_cache .ruff_cache .hypothesis .coverage
	find pidlib tests tools book -name __pycache__ -type d -prune -exec rm -rf {} +
