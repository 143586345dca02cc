# Every target sets up what it needs; nothing has to be installed by hand but Python 3.11+ (and Java for the Spark parts).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOOLS := $(VENV)/.tools

# Some thousand Python processes run in the tests; without byte code each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run demo fetched test test-all prepared check unit without-clients portable second-python other-python-briefly faults simulation cluster-faults mixed-clusters flakes exactly-once group-storm share-stories other-python sanitize sanitize-briefly interop spark lint types format bench bench-clusters bench-groups dist clean

help:
	@echo "make demo    start a broker, produce, read it back and aggregate it with Spark"
	@echo "make run     start a broker on port 9092"
	@echo "make check   lint, types and unit tests: two minutes, before every commit"
	@echo "make test    all of that, property and wire tests, real clients, real Spark: twelve minutes"
	@echo "make test-all  every test, with every version and combination, and on a second Python: forty minutes"
	@echo "make faults  a broker under load with 1,000 injected exceptions, and its end before and after each operation: ten minutes"
	@echo "make simulation  10,000 stories of replicas and 10,000 of coordinators with everything against them, KCOMPAT_SEEDS=N for another number: four hours"
	@echo "make cluster-faults  three brokers over a ZooKeeper, killed, frozen and cut off under load some 250 times: a quarter of an hour"
	@echo "make mixed-clusters  100 leaders and coordinators killed where one of three brokers is a kcompat and two are Kafka 3.9.2, and the reverse: an hour or more"
	@echo "make exactly-once  100,000 records copied in transactions, money moved in them, clients and brokers killed 10 times each: twenty minutes"
	@echo "make group-storm  groups of 200 members, of which one is killed every two seconds, and their coordinators: a quarter of an hour"
	@echo "make flakes  run tests N times (5) on a busy machine and list what failed even once; T=PATH for some of them"
	@echo "make bench   measure beside a real Kafka; make bench-clusters: three brokers beside three; make bench-groups: groups of 60"
	@echo "make dist    build and check the files of a release into dist/: source distribution and wheels"
	@echo "make lint | types | unit | without-clients | portable | other-python | sanitize | interop | spark | format   one part of the above"

NATIVE := $(shell find kcompat -name "*.[ch]")

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(STAMP): pyproject.toml hatch_build.py hatch_metadata.py $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	@touch $@

# The package, and the tools of the tests: linters, Python clients, pyspark. pip knows --group from 25.1 on.
$(TOOLS): pyproject.toml hatch_build.py hatch_metadata.py $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) 'pip>=25.1'
	$(INSTALL) --editable . $(addprefix --group ,test lint interop spark)
	@touch $(STAMP) $@

run: $(STAMP)
	$(BIN)/kcompat start

# Java, Node, Go and older Python clients: fetched into ~/.cache/kcompat-tests, and linked to .cache and .venvs.
fetched: $(TOOLS)
	$(BIN)/python interop-tests/fetch.py

demo: $(TOOLS)
	$(BIN)/python demo/run.py

# As many tests side by side as there are processors, up to four: the JVMs among them take a gigabyte each.
# tests/support/scheduling.py says which tests stay together.
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

check: lint types unit

# Everything whose loss a user would notice: without the tests that are marked `thorough`, with fewer stories of the
# simulation and fewer random inputs. On a second Python it is the compiled code, and a broker without it.
# `make flakes` without a path runs the same.
test: SELECTED := -m "not thorough"
AS_IN_TEST := test $(if $(T),,flakes)
$(AS_IN_TEST): export KCOMPAT_SEEDS := 6
$(AS_IN_TEST): export KCOMPAT_MOMENTS := 400
$(AS_IN_TEST): export KCOMPAT_EVERY_CRASH := 10
$(AS_IN_TEST): export KCOMPAT_FUZZ := 0.2
test: prepared without-clients portable other-python-briefly interop
	@echo "All tests passed."

test-all: prepared without-clients portable other-python interop
	@echo "All tests passed."

# What keeps one processor busy, two at a time.
prepared: $(TOOLS)
	$(MAKE) --jobs 2 --output-sync types sanitize-briefly lint fetched second-python

unit: $(TOOLS)
	$(BIN)/pytest -q $(SIDE_BY_SIDE) tests/unit

# All of tests/: unit, property and wire tests, and the simulation of every crash. One process more than there are
# processors, as a third of the time is spent waiting.
without-clients: fetched
	$(BIN)/pytest -q $(SIDE_BY_SIDE) -n $$(($$(getconf _NPROCESSORS_ONLN) + 1)) $(SELECTED) tests

# `make test` has a short form of it.
faults: $(TOOLS)
	KCOMPAT_INJECTED_FAULTS=1000 KCOMPAT_EVERY_CRASH=1 $(BIN)/pytest -q tests/simulation/test_injected_faults.py \
		tests/simulation/test_every_crash.py

# The first of them are in `make test`. Then coordinators' logs are replayed at ten times as many moments.
simulation: $(TOOLS)
	KCOMPAT_SEEDS=$${KCOMPAT_SEEDS:-10000} KCOMPAT_MOMENTS=10000 $(BIN)/pytest -q -n auto \
		tests/simulation/test_virtual_cluster.py tests/simulation/test_replay.py

# `make test` has a short form of the first of the two, `make test-all` of both.
# With KCOMPAT_SECURED=1 the brokers of the first reach each other by SASL_SSL.
cluster-faults: fetched
	KCOMPAT_FAULTS=100 $(BIN)/pytest -q -s --timeout 7200 interop-tests/test_cluster_faults.py \
		interop-tests/test_slow_links_and_full_disks.py

# `make test-all` has a short form of it, with two brokers of each kind.
mixed-clusters: fetched
	KCOMPAT_KILLS=100 $(BIN)/pytest -q -s interop-tests/test_mixed_clusters.py

# `make test-all` has a short form of it.
exactly-once: fetched
	KCOMPAT_COPIED=100000 KCOMPAT_TRANSFERS=200 KCOMPAT_KILLS=10 $(BIN)/pytest -q -s --timeout 7200 interop-tests/test_exactly_once.py

# `make test-all` has a short form of it.
group-storm: fetched
	KCOMPAT_MEMBERS=200 KCOMPAT_STORM_S=300 $(BIN)/pytest -q -s interop-tests/test_group_storm.py

# What members of a share group are told in made-up stories, beside a real Kafka: on a machine that has nothing else to do.
share-stories: fetched
	$(BIN)/pytest -q interop-tests/share_stories.py

# On another Python than that of the tests so far: the unit and wire tests with nothing but Python, and of the system
# only what every system has; and those of what is compiled.
COMPILED := $(addprefix tests/unit/,net protocol records log/cleaner test_capabilities.py) $(wildcard tests/wire/test_net_*.py)

second-python: $(TOOLS)
	$(BIN)/python tests/other_python.py

other-python: fetched
	$(BIN)/python tests/other_python.py $(SIDE_BY_SIDE) $(COMPILED)
	KCOMPAT_NATIVE=0 KCOMPAT_PORTABLE=1 $(BIN)/python tests/other_python.py $(SIDE_BY_SIDE) tests/unit tests/wire

other-python-briefly: fetched
	$(BIN)/python tests/other_python.py $(SIDE_BY_SIDE) $(COMPILED)
	KCOMPAT_NATIVE=0 KCOMPAT_PORTABLE=1 $(BIN)/python tests/other_python.py $(SIDE_BY_SIDE) \
		tests/wire/test_embedded.py tests/wire/test_groups.py tests/wire/test_portable.py

# A test of each family of clients with the extensions, but without Linux, as developers at other systems have them.
FAMILIES := $(patsubst %,interop-tests/test_%.py,kafka_python aiokafka confluent kcat java kafkajs go)

portable: fetched
	KCOMPAT_PORTABLE=1 $(BIN)/pytest -q $(SIDE_BY_SIDE) $(SELECTED) $(FAMILIES) -k test_null_keys_and_values_and_headers

# Twice as many as there are processors, as these tests wait for clients and sessions.
interop: fetched
	$(BIN)/pytest -q $(SIDE_BY_SIDE) -n $$((2 * $$(getconf _NPROCESSORS_ONLN))) $(SELECTED) interop-tests

# The C extensions under the sanitizers of gcc, with much made-up input; in `make test` with less of it.
sanitize: $(TOOLS)
	KCOMPAT_FUZZ=5 $(BIN)/python tests/sanitize.py

sanitize-briefly: $(TOOLS)
	$(BIN)/python tests/sanitize.py --brief

# Tests in random order, beside busy loops on every processor.
flakes: fetched
	$(BIN)/python tests/flakes.py $(or $(N),5) $(T)

spark: fetched
	$(BIN)/pytest -q interop-tests/test_spark.py

bench: fetched
	$(BIN)/python bench/run.py

bench-clusters: fetched
	$(BIN)/python bench/run_clusters.py

bench-groups: fetched
	$(BIN)/python bench/run_groups.py

# With KCOMPAT_REPOSITORY=URL the metadata has links to a repository.
dist: $(TOOLS)
	$(BIN)/python interop-tests/fetch.py venv-release
	.venvs/release/bin/python release/build.py dist

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python tests/style.py
	$(BIN)/pytest -qq --collect-only interop-tests > $(VENV)/.collected || (cat $(VENV)/.collected; exit 1)

types: $(TOOLS)
	$(BIN)/mypy

format: $(TOOLS)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .venvs .cache build dist
