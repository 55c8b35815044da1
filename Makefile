# Two commands: make book, make test. Each makes .venv from requirements.txt when it is missing.
PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
PY := $(VENV)/bin/python
# uv is some three times as fast as pip; torch is left to pip, whose settings may name a CPU build.
# make env INSTALL=".venv/bin/python -m pip install -qq" does without uv.
INSTALL ?= $(PY) -m uv pip install -q --python $(PY)
PINS := $(shell cat requirements.txt requirements-nodeps.txt pyproject.toml book/pyproject.toml | cksum | cut -d' ' -f1)
STAMP := $(VENV)/.pins-$(PINS)

.DEFAULT_GOAL := help
.PHONY: help book test lint notebooks long portable quick lab canary dist clean env chromium wordnet fashion
export WORKERS

help:
	@echo "make book    install, run the chapters, build the site"
	@echo "make test    install, then every check, and a summary"
	@echo "make quick   the pictures of the chapter on robustness, no book"
	@echo "make lab     open the chapters in JupyterLab"
	@echo "make portable chapters and numeric tests as other processors would run them"
	@echo "make long    minutes of what shorter tests sample"
	@echo "make canary  the newest versions of the packages, from the network"
	@echo "make dist    the built site as dist/book.zip"
	@echo "make clean   remove what was built; .venv stays"

env: $(STAMP)

$(STAMP):
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed; set PYTHON=python3.11')"
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "Installing the pinned packages; the first time takes some minutes."
	$(PY) -m pip install -qq $(shell grep -e ^uv== -e ^torch== requirements.txt)
	$(INSTALL) -r requirements.txt
	$(INSTALL) --no-deps -r requirements-nodeps.txt
	$(INSTALL) --no-deps --no-build-isolation -e . -e book
	rm -f $(VENV)/.pins-*
	touch $(STAMP)

book: $(STAMP)
	$(PY) tools/book.py build

# Every stage is run, whatever fails before it; the last line sums up.
test: $(STAMP)
	$(PY) tools/suite.py

lint: $(STAMP)
	$(PY) tools/suite.py lint

notebooks: $(STAMP)
	$(PY) tools/suite.py models chapters

long: $(STAMP)
	$(PY) tools/suite.py long

# SETTING=plain runs one setting; what is done is kept.
portable: $(STAMP)
	$(PY) tools/portable.py $(SETTING)

quick: $(STAMP)
	$(PY) tools/quick.py

# Lab draws stored pictures of trusted notebooks only; tools/lab has it show pages, not their source,
# and captions, which stand in metadata, beneath their figures.
lab: $(STAMP)
	$(PY) -m jupyter trust notebooks/*.ipynb
	$(PY) -m jupyter lab README.md --ServerApp.root_dir=. --LabApp.app_settings_dir=tools/lab --LabApp.extra_labextensions_path=tools/lab

# PYTHONS="python3.12 python3.13" chooses which; by default those that are on the path.
canary: $(STAMP)
	$(PY) tools/canary.py $(PYTHONS)

dist: book
	$(PY) tools/book.py dist

# What pip does not install; as root, on Debian.
chromium:
	tools/debian.sh chromium

wordnet:
	tools/debian.sh wordnet

fashion:
	tools/debian.sh fashion

clean:
	rm -rf _build build dist .pytest_cache .ruff_cache .hypothesis .coverage
	find pidlib experiments tests tools book -name __pycache__ -type d -prune -exec rm -rf {} +
