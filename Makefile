# make demo      a tour on real data; writes baserate-demo.html baserate-reproduce
# make test      all tests
# Everything is installed into .venv by whichever target comes first; nothing else is needed than Python 3.11+ and make.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
PIP := $(RUN) pip --disable-pip-version-check -qq

.PHONY: help demo test check format serve-demo service-proof spark-proof test-system lint-deploy test-lowest test-python test-data docs look-at-docs figures release fuzz screenshots perf reproduce reproduce-synthetic reproduce-rates reproduce-supervised reproduce-unsupervised bench-trackers bench-efficiency clean

help:
	@sed -n 's/^## //p' Makefile

## demo                  a tour on real data: four streams, a table, an HTML report
demo: $(VENV)/demo.stamp
	$(VENV)/bin/python -m baserate demo

## test                  all tests that need nothing but Python
test: $(VENV)/test.stamp
	$(RUN) pytest -n auto

## serve-demo            the side-car and its dashboard, with real streams that drift
serve-demo: $(VENV)/test.stamp
	$(VENV)/bin/python -m baserate serve --demo

## check                 format, lint, types, layers
check: $(VENV)/check.stamp
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(RUN) mypy
	$(VENV)/bin/python tools/layers.py

## lint-deploy           the files in deploy/, by the linters that are there; says what is missing
lint-deploy: $(VENV)/check.stamp
	$(VENV)/bin/python tools/lint_deploy.py

## format                put the code into the house format
format: $(VENV)/check.stamp
	$(RUN) ruff format .
	$(RUN) ruff check --fix .

## test-system           tests that need system packages (a browser); says what is missing
test-system: $(VENV)/test.stamp
	$(RUN) pytest -n 0 tests/system -m system

NEED_MORE = --ignore tests/service --ignore tests/proving --ignore src/baserate/service --ignore src/baserate/integrations/torch_classifier.py --ignore src/baserate/integrations/_river_estimator.py --ignore tests/project/test_docs_blocks.py --ignore tests/project/test_docs_api.py
OTHER := $(if $(filter test-python,$(MAKECMDGOALS)),$(shell "$(PYTHON)" -c 'import sys; print("%d.%d" % sys.version_info[:2])'),lowest)
TEST_OTHER = .venv-$(OTHER)/bin/python -m pytest -n auto --doctest-ignore-import-errors $(NEED_MORE)  # torch is not there, river where it can be had
## test-lowest           the tests against the lowest allowed versions of the dependencies
test-lowest: .venv-$(OTHER)/test.stamp
	$(TEST_OTHER)

## test-python           the tests under another Python: make test-python PYTHON=python3.13
test-python: .venv-$(OTHER)/test.stamp
	$(TEST_OTHER)

## test-data             fetch every data set that can be had, and look at it (slow; needs a network)
test-data: $(VENV)/test.stamp
	$(RUN) pytest -n 0 lab/tests/datasets -m data

## docs                  the documentation as pages: docs/_build/html/index.html
docs: $(VENV)/docs.stamp
	$(RUN) sphinx -W --keep-going -q docs docs/_build/html -d docs/_build/doctrees

## look-at-docs          every page of the documentation in a browser, at two widths, light and dark (needs chromium)
look-at-docs: $(VENV)/test.stamp docs
	$(VENV)/bin/python tools/look_at_docs.py

## figures               draw every figure of the documentation that code makes (three minutes)
figures: $(VENV)/demo.stamp
	$(VENV)/bin/python tools/figures.py

## release               both wheels, checked, and tried in fresh environments
release: $(VENV)/release.stamp
	$(VENV)/bin/python tools/release.py

## fuzz                  crafted state files: each is refused, or works (an hour; goes on where it was stopped)
fuzz: $(VENV)/test.stamp
	$(VENV)/bin/python tools/fuzz.py --cases 100000 --seconds 3600 --resume .fuzz-cache/run.json

## screenshots           pictures of reports and of the dashboard for the docs (needs chromium)
screenshots: $(VENV)/test.stamp
	$(VENV)/bin/python tools/screenshots.py
	$(VENV)/bin/python tools/dashboard_screenshots.py

## service-proof         the side-car: 50 kills, 100,000 malformed bodies, a million batches, load (an hour; needs strace and postgresql)
service-proof: $(VENV)/test.stamp
	$(VENV)/bin/python tools/service_proof.py --out docs/results/service.json

## spark-proof           keyed streams on a local Spark: speed beside processors that do nothing, 24 kills (an hour; needs java)
spark-proof: $(VENV)/test.stamp
	$(VENV)/bin/python tools/spark_proof.py --out docs/results/spark.json

## perf                  speed, as ratios to baselines in the same run
perf: $(VENV)/test.stamp
	$(VENV)/bin/python perf/run.py

## reproduce             the paper's tables and figures, ours beside theirs (hours the first time; goes on where it was stopped)
reproduce: $(VENV)/test.stamp
	$(RUN) baserate reproduce all

## reproduce-synthetic   the synthetic columns of the paper's tables (five minutes)
reproduce-synthetic: $(VENV)/test.stamp
	$(RUN) baserate reproduce table-uols table-mon-squ table-all-holdout --data synthetic

## reproduce-rates       how error, regret and switches grow with time, beside the theory (15 minutes)
reproduce-rates: $(VENV)/test.stamp
	$(RUN) baserate_lab.paper.rates --figure docs/results/rates.svg

## reproduce-supervised  the theory of the supervised half: class mix, trainings, identity, regret (10 minutes)
reproduce-supervised: $(VENV)/test.stamp
	$(RUN) baserate_lab.paper.supervised --figure docs/results/supervised.svg

## reproduce-unsupervised  every method with the library's defaults, on real data
reproduce-unsupervised: $(VENV)/test.stamp
	$(RUN) baserate reproduce table-defaults

## bench-trackers        how well trackers follow the class mix, beside the best possible (an hour; goes on where it was stopped)
bench-trackers: $(VENV)/test.stamp
	$(RUN) baserate_lab.bench.trackers --out docs/results/trackers

## bench-efficiency      how close the default tracker comes to maximum likelihood, beside rivals (15 minutes; goes on where it was stopped)
bench-efficiency: $(VENV)/test.stamp
	$(RUN) baserate_lab.bench.efficiency --out docs/results/efficiency

## clean                 remove everything that the other targets made
clean:
	rm -rf .venv .venv-* build dist lab/build lab/dist src/*.egg-info lab/src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .fuzz-cache fuzz-failures baserate-demo.html baserate-reproduce baserate-trackers baserate-efficiency docs/_build docs/examples docs/reference/api
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/python.stamp:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "baserate needs Python 3.11 or newer, and $(PYTHON) is not. Name one: make PYTHON=/path/to/python"; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	@touch $@

$(VENV)/demo.stamp: $(VENV)/python.stamp pyproject.toml lab/pyproject.toml
	$(PIP) install --editable ".[plot]" --editable lab
	@touch $@

$(VENV)/test.stamp: $(VENV)/python.stamp pyproject.toml lab/pyproject.toml
	$(PIP) install --editable ".[plot,files,deep,river,service,spark]" --editable "lab[deep]" --group test --group examples --group deep --group browser
	@touch $@ $(VENV)/demo.stamp

$(VENV)/check.stamp: $(VENV)/test.stamp
	$(PIP) install --group check
	@touch $@

$(VENV)/docs.stamp: $(VENV)/demo.stamp
	$(PIP) install --editable ".[plot,files,deep,river,service]" --group docs --group deep
	@touch $@

$(VENV)/release.stamp: $(VENV)/python.stamp
	$(PIP) install --group release
	@touch $@

.venv-$(OTHER)/test.stamp: pyproject.toml lab/pyproject.toml tools/lowest.py
	"$(PYTHON)" -m venv .venv-$(OTHER)
	.venv-$(OTHER)/bin/python -m pip --disable-pip-version-check -qq install --upgrade "pip>=25.1"
ifeq ($(OTHER), lowest)
	"$(PYTHON)" tools/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip --disable-pip-version-check -qq install --editable ".[plot,files]" --editable lab --group test --constraint .venv-lowest/lowest.txt
else
	.venv-$(OTHER)/bin/python -m pip --disable-pip-version-check -qq install --editable ".[plot,files]" --editable lab --group test
	-.venv-$(OTHER)/bin/python -m pip --disable-pip-version-check -qq install --only-binary river river
endif
	@touch $@
