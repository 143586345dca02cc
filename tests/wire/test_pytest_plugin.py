"""The plugin of pytest: its fixtures and options, and its absence where it is left out."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from support.plugin_asking import ASKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., pytest.RunResult]

pytest_plugins = ["pytester", "support.plugin_runs"]

CONFTEST = """
import pytest
from kcompat.testing import factories

@pytest.fixture(scope="session")
def kafka_config(kafka_config):
    return {**kafka_config, "num.partitions": 3}

compacting_broker = factories.kafka_broker(config={"log.cleanup.policy": "compact"}, scope="function")
pair = factories.kafka_cluster(2)
compacting_client_config = factories.kafka_client_config("compacting_broker", library="java")
"""

TESTS = """
import asyncio
import os
import sys

import pytest
from asking import address_of, brokers_of, partitions

names = set()

@pytest.mark.parametrize("value", ["a", "b / c", "ü" * 300])
def test_topic(kafka_broker, kafka_topic, value):
    names.add(kafka_topic)
    assert partitions(kafka_broker, kafka_topic) == 3

def test_names(kafka_topic):
    assert kafka_topic.startswith("test_names-")
    assert len(names) == 3

def test_broker_of_a_factory(compacting_broker, compacting_client_config, kafka_broker):
    assert compacting_client_config["bootstrap.servers"] == compacting_broker.bootstrap_servers
    assert compacting_broker.bootstrap_servers != kafka_broker.bootstrap_servers
    assert partitions(compacting_broker, "t") == 3

def test_cluster_of_a_factory(pair):
    assert brokers_of(pair) == 2

def test_settings_for_clients(kafka_broker, kafka_client_config):
    servers = kafka_broker.bootstrap_servers
    assert kafka_client_config == {"bootstrap.servers": servers, "security.protocol": "PLAINTEXT"}
    assert kafka_client_config("aiokafka")["bootstrap_servers"] == servers

async def test_coroutine(kafka_broker, kafka_topic):
    assert await asyncio.to_thread(partitions, kafka_broker, kafka_topic) == 3

def test_forked_child(kafka_broker, kafka_topic):
    child = os.fork()
    if child == 0:
        os._exit(partitions(kafka_broker, kafka_topic))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert partitions(kafka_broker, kafka_topic) == 3

def test_assertions_of_the_broker_are_its_own():
    assert "@pytest_ar" not in vars(sys.modules["kcompat.node.broker"])
"""


def test_the_fixtures_need_no_conftest_and_may_be_changed_by_one(
    pytester: pytest.Pytester, run_pytest: Run
) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nasyncio_mode = auto\n")
    pytester.makepyfile(asking=ASKING, test_all=TESTS)
    run_pytest().assert_outcomes(passed=10)


def test_loading_the_plugin_imports_no_part_of_a_broker(pytester: pytest.Pytester, run_pytest: Run) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_modules(pytestconfig):
            assert pytestconfig.pluginmanager.has_plugin("kcompat")
            loaded = {name for name in sys.modules if name.partition(".")[0] == "kcompat"}
            own = {"factories", "options", "plain_imports", "plugin", "sharing", "watch"}
            named = {"kcompat", "kcompat.testing", "kcompat.embedded", "kcompat.embedded.observers"}
            assert loaded == named | {"kcompat.errors"} | {f"kcompat.testing.{name}" for name in own}
        """
    )
    run_pytest().assert_outcomes(passed=1)


def test_the_plugin_may_be_left_out(pytester: pytest.Pytester, run_pytest: Run) -> None:
    pytester.makepyfile("def test_topic(kafka_topic): pass")
    ran = run_pytest("-p", "no:kcompat")
    ran.assert_outcomes(errors=1)
    ran.stdout.fnmatch_lines(["*fixture 'kafka_topic' not found*"])


@pytest.mark.parametrize(
    "autoload",
    [True, pytest.param(False, marks=pytest.mark.thorough("the case with the entry point"))],
)
def test_the_package_may_be_named_as_a_plugin(
    pytester: pytest.Pytester, run_pytest: Run, monkeypatch: pytest.MonkeyPatch, autoload: bool
) -> None:
    if not autoload:
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        monkeypatch.setenv("PYTEST_PLUGINS", "pytest_timeout")
    pytester.makeconftest('pytest_plugins = ["kcompat.testing"]')
    pytester.makepyfile("def test_topic(kafka_topic): assert kafka_topic == 'test_topic-1'")
    run_pytest().assert_outcomes(passed=1)


@pytest.mark.thorough("tests/unit/testing/test_options.py")
def test_options_of_the_command_line_win_over_the_ini_file(
    pytester: pytest.Pytester, run_pytest: Run
) -> None:
    pytester.makeini("[pytest]\nkcompat_config =\n  num.partitions = 7\n  compression.type=lz4\n")
    pytester.makepyfile(
        """
        def test_config(kafka_config):
            assert kafka_config == {"num.partitions": "5", "compression.type": "lz4"}
        """
    )
    run_pytest("--kcompat-config", "num.partitions=5").assert_outcomes(passed=1)


def test_an_option_that_cannot_be_ends_the_run(pytester: pytest.Pytester, run_pytest: Run) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    ran = run_pytest("--kcompat-external=here")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["ERROR: kcompat_external=here is not an address: use HOST:PORT*"])


def test_the_tests_may_use_a_broker_that_runs_already(pytester: pytest.Pytester, run_pytest: Run) -> None:
    pytester.makepyfile(
        asking=ASKING,
        test_external="""
        from asking import partitions
        from kcompat.testing import ExternalBroker

        def test_broker(kafka_broker, kafka_topic, kafka_client_config):
            assert isinstance(kafka_broker, ExternalBroker)
            assert f"{kafka_broker.host}:{kafka_broker.port}" == kafka_broker.bootstrap_servers
            assert kafka_client_config["bootstrap.servers"] == kafka_broker.bootstrap_servers
            assert partitions(kafka_broker, kafka_topic) == 4
            assert len(kafka_topic) == len("test_broker-1-") + 8

        def test_cluster(kafka_cluster):
            kafka_cluster.isolate(1)
        """,
    )
    with Broker(config={"num.partitions": 4}) as broker:
        address = broker.bootstrap_servers
        ran = run_pytest(f"--kcompat-external={address}")
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(
        [
            f"kcompat: the tests use the broker at {address}, with its own settings",
            f"*UsageError: the broker at {address} has no 'isolate', which only*",
        ]
    )


@pytest.mark.thorough("interop-tests/test_failing_tests.py, whose workers have brokers of their own")
def test_each_worker_of_xdist_has_its_own_broker(pytester: pytest.Pytester, run_pytest: Run) -> None:
    pytester.makepyfile(
        """
        import os
        from pathlib import Path
        import pytest

        @pytest.mark.parametrize("number", range(4))
        def test_broker(kafka_broker, number):
            with Path("addresses").open("a") as file:
                file.write(f"{os.environ['PYTEST_XDIST_WORKER']} {kafka_broker.bootstrap_servers}\\n")
        """
    )
    run_pytest("-n2", "--dist=each").assert_outcomes(passed=8)
    pairs = {tuple(line.split()) for line in (pytester.path / "addresses").read_text().splitlines()}
    assert len(pairs) == len(dict(pairs)) == len({address for _, address in pairs}) == 2


CASE = """
import unittest
from asking import partitions
from kcompat.testing import KafkaTestCase

class Test(KafkaTestCase, unittest.IsolatedAsyncioTestCase):
    kafka_config = {"num.partitions": 2}

    def test_plain(self):
        self.assertEqual(partitions(self.kafka_broker, self.kafka_topic), 2)
        self.assertTrue(self.kafka_topic.startswith("test_plain-"))

    async def test_coroutine(self):
        self.assertEqual(partitions(self.kafka_broker, self.kafka_topic), 2)
"""


def test_a_case_of_unittest_has_a_broker(pytester: pytest.Pytester, run_pytest: Run) -> None:
    pytester.makepyfile(asking=ASKING, test_case=CASE)
    run_pytest().assert_outcomes(passed=2)
    ran = subprocess.run(
        [sys.executable, "-m", "unittest", "test_case"], capture_output=True, text=True, cwd=pytester.path
    )
    assert ran.returncode == 0, ran.stderr
    assert "Ran 2 tests" in ran.stderr


FAULTY_CASE = """
from asking import partitions
from kcompat.testing import KafkaTestCase

class TestFaults(KafkaTestCase):
    def test_a_leaves_faults(self):
        self.kafka_broker.faults.drop("Metadata")
        self.kafka_broker.disk.fill()

    def test_b_finds_none(self):
        self.assertEqual(partitions(self.kafka_broker, "t"), 1)
        self.kafka_broker.add("t", ["record"])

    def test_c_leaves_the_broker_stopped(self):
        self.assertIn("t", self.kafka_broker.topics())
        self.kafka_broker.stop()

class TestResets(KafkaTestCase):
    kafka_reset = True

    def test_a(self):
        self.assertEqual(dict(self.kafka_broker.topics()), {})
        partitions(self.kafka_broker, "t")

    test_b = test_a
"""


def test_the_tests_of_a_case_are_independent(pytester: pytest.Pytester, run_pytest: Run) -> None:
    pytester.makepyfile(asking=ASKING, test_case=FAULTY_CASE)
    run_pytest("-p", "no:kcompat").assert_outcomes(passed=5)


def test_nothing_else_imports_pytest() -> None:
    code = "import sys, kcompat.cli.main, kcompat.testing; kcompat.Broker; print('pytest' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
