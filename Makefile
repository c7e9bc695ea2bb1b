# Two commands do everything on a machine that has python3 (3.11 or later), pip and make:
#   make reproduce   set up, then run the main job
#   make test        set up, then run the whole test suite
# Each .venv/.have-* file says that a set of packages is installed; a second run skips it.

PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode
PIP := $(PYTHON) -m pip --python $(BIN)/python install --quiet

# Programs, and the packages of Debian that bring them.
PROGRAMS := chromium munged slurmctld slurmd
PACKAGES := chromium munge slurm-wlm

.PHONY: reproduce test quick lab notebook system soak versions check format docs findings calibration pins clean

reproduce: .venv/.have-run
	$(BIN)/localax reproduce

# The quick presets run once, side by side, into a store that the tests read; a claim that misses is for them to tell.
test: .venv/.have-test
	-$(BIN)/localax reproduce all --store .quick/store --out .quick/report
	$(BIN)/python -m pytest -n 2 --dist worksteal -rs

# What takes no more than a second or two each.
quick: .venv/.have-test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow'

lab: .venv/.have-lab
	$(BIN)/localax lab

# The constraints keep what is installed as it is.
notebook: .venv/.have-run
	$(UV) -c constraints.txt jupyterlab || $(PIP) -c constraints.txt jupyterlab
	$(BIN)/jupyter lab

# What the tests use if it is there: a real browser for the report, a real SLURM. Without it they skip, and say so.
system:
	@PATH="$$PATH:/usr/sbin"; for program in $(PROGRAMS); do command -v $$program >/dev/null || missing=1; done; \
	  [ -z "$$missing" ] || { apt-get update -qq && apt-get install -y -qq $(PACKAGES); } >/dev/null 2>&1 \
	  || echo "cannot install $(PACKAGES)"

# Kill every command at twenty moments and compare what comes out bit by bit; full disks, crowds on one store; ten thousand
# inputs that nobody means to each thing that takes input from outside; numbers against enumeration and at extremes; a file
# of 10 GB. It takes hours; SHARE=0.1 does a tenth, and .ci/run a hundredth.
SHARE ?= 1
soak: soak-kills soak-stores soak-fuzz soak-numbers soak-large_file

soak-%: .venv/.have-test
	PYTHONPATH=tests $(BIN)/python -m soak.$* --share $(SHARE)

# The quick tests with other versions of Python and of what Localax needs.
versions: .venv/.have-test
	PYTHONPATH=tests $(BIN)/python -m soak.versions

check: .venv/.have-check .venv/.have-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

format: .venv/.have-check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/.have-docs
	$(BIN)/sphinx-build -W -q docs docs/_build

# What the paper presets give (three quarters of an hour, what is stored aside), and the page on it.
findings: .venv/.have-run
	-$(BIN)/localax reproduce all --preset paper --store .paper/store --out .paper/report --summary docs/paper_preset.json
	$(BIN)/python docs/findings.py

# Predictions beside trained networks on some 350 data sets (about an hour, what is stored aside), and the page on it.
calibration: .venv/.have-run
	$(BIN)/python docs/calibration.py

pins: .venv/.have-run
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
	  --no-header --no-emit-index-url --quiet -o constraints.txt

clean:
	rm -rf .venv docs/_build docs/api docs/jupyter_execute docs/.jupyter_cache

# --without-pip and pip --python need no ensurepip, which some Linux packages of Python leave out.
.venv/bin/python:
	$(PYTHON) -m venv --without-pip .venv

# uv installs in a third of the time; where it cannot reach the packages, pip can. A pip of its own is for whoever adds more.
.venv/.have-run: pyproject.toml constraints.txt | .venv/bin/python
	@echo "installing localax into .venv (about a minute, once)"
	-$(PIP) uv pip
	$(UV) -c constraints.txt -e . || $(PIP) -c constraints.txt -e .
	touch $@

.venv/.have-%: .venv/.have-run
	$(UV) -c constraints.txt -e '.[$*]' || $(PIP) -c constraints.txt -e '.[$*]'
	touch $@
