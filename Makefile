# Every target sets itself up from nothing, and does nothing the second time that the first time did.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Bytecode is made when a module is first imported: to make it for all of them takes most of a minute. It must be kept
# then, whatever the machine's settings say, or every process of the tests makes it again, for three to fifteen seconds.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := python -m pip install --no-compile --quiet --disable-pip-version-check --constraint constraints.txt
# uv installs in seconds what takes pip more than a minute. It reads no pip.conf: where only pip knows the way, pip goes it.
EVERYTHING := --editable '.[all]' --group dev --group docs --group reproduction

.PHONY: help reproduce demo test test-versions test-oldest test-newest quick soak mutants check docs site-check package bench bench-peers clean

help:
	@echo "make reproduce    run the paper's experiments and write results/report.html"
	@echo "make demo         live decisions in a drifting world, and the dashboard"
	@echo "make test         checks, doctests and tests"
	@echo "make test-versions  the tests of the compiled core on the oldest and the newest numba and numpy"
	@echo "make quick        the tests of what changed since main, without the slow ones"
	@echo "make soak         the long tests: random policies, kills, full disks, frozen databases, wrong requests; each alone: tests/soak.py --help"
	@echo "make mutants      changes of src, one at a time, that no test notices: 60 random ones, some hours; ARGS='--sample 8 --seed 3 --under src/driftbandits/live'"
	@echo "make check        ruff, mypy, import-linter"
	@echo "make docs         the site: site/index.html, without network; pages of policies and rooms.svg are made first"
	@echo "make site-check   builds the site and opens every page of it in a browser"
	@echo "make package      wheel and sdist, checked, installed elsewhere and tried"
	@echo "make bench        nanoseconds a step, sweeps, the store and requests a second, beside their floors"
	@echo "make bench-peers  the same workload in other libraries"

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "driftbandits needs Python 3.11 or newer; say make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing pinned dependencies into .venv ..."
	@$(BIN)/$(INSTALL) --upgrade pip uv  # the pip of Python 3.11 knows no dependency groups
	@VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --constraint constraints.txt $(EVERYTHING) \
		|| { echo "uv could not (see above): pip tries, which takes a minute" >&2; $(BIN)/$(INSTALL) $(EVERYTHING); }
	@touch $@

reproduce: $(READY)
	@$(BIN)/python -m reproduction

demo: $(READY)
	@$(BIN)/driftbandits demo

# Two processes compute, and a third runs what waits much: tests/support/scheduling.py says who runs what.
# While pip installs packages, Debian's are installed that tests need. All that check does is done: mypy is run by a test,
# since alone it would leave a core idle for a minute.
test:
	@$(PYTHON) tests/support/debian.py & $(MAKE) --no-print-directory $(READY); made=$$?; wait; exit $$made
	@$(STYLE)
	@$(BIN)/python -m pytest -n 3 -o python_files="test_*.py check_code.py"

# The bounds of pyproject.toml, and the newest versions for NEWEST_PYTHON: newer ones of numpy need a newer Python.
NEWEST_PYTHON ?= $(PYTHON)
CORE := $(addprefix tests/_numba/test_,random.py same_bits.py kernels.py cells.py faults.py)
test-versions: test-oldest test-newest
test-oldest test-newest: test-%: $(READY)
	@$(BIN)/uv venv --quiet --allow-existing --python $(if $(filter oldest,$*),$(PYTHON),$(NEWEST_PYTHON)) .venv-$*
	@VIRTUAL_ENV=.venv-$* $(BIN)/uv pip install --quiet --upgrade --editable '.[all]' --group dev \
		$(if $(filter oldest,$*),numba==0.61.0 numpy==2.0.2,numba numpy)
	@.venv-$*/bin/python -c 'import numba, numpy; print("numba", numba.__version__, "numpy", numpy.__version__)'
	@.venv-$*/bin/python -m pytest -q -n 2 $(CORE)

quick: $(READY)
	@$(BIN)/python tests/quick.py

soak: $(READY)
	@PYTHONPATH=tests/support:tests/twins $(BIN)/python tests/soak.py

mutants: $(READY)
	@$(BIN)/python tools/mutants.py $(ARGS)

STYLE := $(BIN)/ruff check . && $(BIN)/ruff format --check .

check: $(READY)
	@$(STYLE)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache > .venv/lint-imports.txt || { cat .venv/lint-imports.txt; exit 1; }

docs: $(READY)
	@$(BIN)/python -m driftbandits.research.pages docs/policies
	@$(BIN)/python -m reproduction.report.companion docs/companion.md
	@$(BIN)/python tests/support/rooms.py docs/rooms.svg
	@$(SITE)

SITE := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

site-check: $(READY)
	@$(SITE)
	@$(BIN)/python -m pytest tests/project/check_site.py

PACKAGE := .package/.ready

$(PACKAGE): pyproject.toml constraints.txt
	@test -x .package/bin/python || $(PYTHON) -m venv .package
	@.package/bin/$(INSTALL) --upgrade pip
	@.package/bin/$(INSTALL) --group package
	@touch $@

package: $(PACKAGE)
	@rm -rf dist
	@.package/bin/python -m build
	@.package/bin/twine check --strict dist/*
	@.package/bin/python tests/smoke.py dist/*.whl

bench: $(READY)
	@$(BIN)/driftbandits bench
	@$(BIN)/python benchmarks/gaps.py
	@$(BIN)/python benchmarks/sweeps.py
	@$(BIN)/python benchmarks/sessions.py
	@$(BIN)/python benchmarks/store.py
	@$(BIN)/python benchmarks/load.py
	@$(BIN)/python benchmarks/dashboard.py

PEERS := .peers/.ready

$(PEERS): benchmarks/peers-requirements.txt
	@test -x .peers/bin/python || $(PYTHON) -m venv .peers
	@echo "installing pinned river, pymab and MABWiser into .peers ..."
	@.peers/bin/python -m pip install --quiet --disable-pip-version-check --requirement $< \
		|| { echo "river, pymab and MABWiser could not be installed (see above): bench-peers needs them, nothing else does" >&2; exit 1; }
	@touch $@

bench-peers: $(READY) $(PEERS)
	@$(BIN)/python benchmarks/peers.py --python .peers/bin/python
	@$(BIN)/python benchmarks/moving.py river .peers/bin/python
	@$(BIN)/python benchmarks/moving.py mabwiser .peers/bin/python

clean:
	rm -rf .venv .package .peers dist results site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
