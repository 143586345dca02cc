"""The plugin of pytest: its fixtures and options, and its absence where it is left out."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker

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

ASKING = """
from kcompat.protocol.messages.metadata import MetadataRequest
from support.raw_client import RawClient

def address_of(broker):
    host, _, port = broker.bootstrap_servers.split(",")[0].rpartition(":")
    return host, int(port)

def partitions(broker, topic):
    wanted = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
    with RawClient(address_of(broker)) as client:
        [topic] = client.call(wanted, 4).topics
        while topic.error_code:
            [topic] = client.call(wanted, 4).topics
    return len(topic.partitions)

def brokers_of(cluster):
    with RawClient(address_of(cluster)) as client:
        return len(client.call(MetadataRequest(topics=[]), 4).brokers)
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
            own = {"factories", "options", "plain_imports", "plugin", "sharing", "topic_names", "watch"}
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


RESETS = """
import pytest
from asking import partitions
from kcompat.testing import factories

lasting_broker = factories.kafka_broker(reset=False)

@pytest.mark.parametrize("number", range(2))
def test_reset(kafka_broker, number):
    assert "t" not in kafka_broker.topics()
    partitions(kafka_broker, "t")

@pytest.mark.parametrize("number", range(2))
def test_lasting(lasting_broker, number):
    assert ("t" in lasting_broker.topics()) is (number == 1)
    partitions(lasting_broker, "t")
"""


def test_brokers_are_reset_before_each_test_if_they_are_to_be(
    pytester: pytest.Pytester, run_pytest: Run
) -> None:
    pytester.makeini("[pytest]\nkcompat_reset = true\n")
    pytester.makepyfile(asking=ASKING, test_resets=RESETS)
    run_pytest().assert_outcomes(passed=4)


LEFT_BEHIND = """
from asking import address_of, brokers_of, partitions
from kcompat.protocol.messages.metadata import MetadataRequest
from support.raw_client import RawClient

def test_forgets_a_fault(kafka_broker):
    kafka_broker.faults.fail("Metadata", "REBALANCE_IN_PROGRESS")
    kafka_broker.faults.drop("Produce", times=1)

def test_forgets_a_failed_disk(kafka_broker, kafka_topic):
    assert partitions(kafka_broker, kafka_topic) == 1
    kafka_broker.disk.fail()

def test_forgets_to_start(kafka_broker, kafka_topic):
    kafka_broker.add(kafka_topic, ["order"])
    kafka_broker.stop()

def test_uses_the_settings_alone(kafka_client_config):
    assert kafka_client_config["bootstrap.servers"]

def test_finds_the_broker(kafka_broker, kafka_topic):
    assert kafka_broker.topics() == {}
    assert partitions(kafka_broker, kafka_topic) == 1
    assert repr(kafka_broker.faults).endswith(": none>")

def test_kills_a_member(kafka_cluster):
    kafka_cluster.brokers[1].kill()
    kafka_cluster.faults.fail("Metadata", "REBALANCE_IN_PROGRESS")

def test_finds_all_members(kafka_cluster):
    assert brokers_of(kafka_cluster) == 3
"""


def test_what_a_test_leaves_behind_does_not_disturb_the_next_one(
    pytester: pytest.Pytester, run_pytest: Run
) -> None:
    pytester.makeini("[pytest]\nkcompat_reset = true\n")
    pytester.makepyfile(asking=ASKING, test_left=LEFT_BEHIND)
    run_pytest().assert_outcomes(passed=7)


STORIES = """
import pytest
from asking import address_of, partitions
from kcompat import Broker
from support.raw_client import RawClient
from kcompat.protocol.messages.metadata import MetadataRequest

def speak_badly(broker):
    with RawClient(address_of(broker), client_id="stranger") as client:
        client.call(MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="a/b")]), 4)

def test_fine(kafka_broker):
    speak_badly(kafka_broker)

def test_shared(kafka_broker, kafka_topic):
    speak_badly(kafka_broker)
    partitions(kafka_broker, kafka_topic)
    assert False

def test_own():
    with Broker() as broker:
        speak_badly(broker)
        assert False

@pytest.mark.asyncio
async def test_async():
    async with Broker() as broker:
        speak_badly(broker)
        assert False

def test_silent(kafka_broker):
    assert False

def test_without_broker():
    assert False

@pytest.fixture
def noisy(kafka_broker):
    yield
    speak_badly(kafka_broker)
    assert False

def test_teardown(noisy):
    pass

@pytest.mark.xfail
def test_expected(kafka_broker):
    speak_badly(kafka_broker)
    assert False
"""


def test_the_report_of_a_failed_test_says_what_its_clients_did(
    pytester: pytest.Pytester, run_pytest: Run
) -> None:
    pytester.makepyfile(asking=ASKING, test_stories=STORIES)
    ran = run_pytest("--tb=short", "-v")
    ran.assert_outcomes(passed=2, failed=5, errors=1, xfailed=1)
    reports = re.split(r"^_+ (?:ERROR at \w+ of )?(test_\w+) _+$", ran.stdout.str(), flags=re.MULTILINE)
    text = dict(zip(reports[1::2], reports[2::2], strict=True))
    refusal = (
        r"[\d:.]{12} stranger Metadata a/b: INVALID_TOPIC_EXCEPTION for a/b: The topic name is not allowed$"
    )
    for name in ("test_shared", "test_own", "test_async", "test_teardown"):
        assert "- what your clients did -" in text[name]
        assert len(re.findall(refusal, text[name], re.MULTILINE)) == 1
        assert "Metadata of stranger was refused: INVALID_TOPIC_EXCEPTION for a/b: " in text[name]
    assert "raw Metadata test_shared-1: ok" in text["test_shared"]
    assert "No client sent anything to <Broker at 127.0.0.1:" in text["test_silent"]
    assert "what your clients did" not in text["test_without_broker"]


FAULTS = """
from asking import address_of
from kcompat.protocol.messages.heartbeat import HeartbeatRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from support.raw_client import RawClient

clients = []

def client_of(broker, name):
    clients.append(RawClient(address_of(broker), client_id=name))
    return clients[-1]

def ask(client):
    wanted = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="orders")])
    client.call(wanted, 4)

def test_passes(kafka_broker):
    ask(client_of(kafka_broker, "early"))

def test_faulty(kafka_broker):
    with kafka_broker.faults.fail("Metadata", "UNKNOWN_TOPIC_OR_PARTITION"):
        ask(client_of(kafka_broker, "late"))
    kafka_broker.disk.slow(1)
    kafka_broker.faults.drop("Heartbeat")
    clients[0].send(HeartbeatRequest("g", 1, "m"), 3)
    ask(client_of(kafka_broker, "later"))
    assert False
"""


def test_the_report_names_the_faults_of_the_test_and_the_clients_of_earlier_ones(
    pytester: pytest.Pytester, run_pytest: Run
) -> None:
    pytester.makepyfile(asking=ASKING, test_faults=FAULTS)
    ran = run_pytest("--tb=short")
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.re_match_lines(
        [
            "-+ what your clients did -+",
            "Faults in force in this test:",
            r"  Metadata fails with UNKNOWN_TOPIC_OR_PARTITION: it struck 1 request, over since [\d:.]+",
            r"  the disk of .* takes 1 ms longer: it struck \d+ operations?",
            "  Heartbeat is served and never answered: it struck 1 request",
            "Last requests to 127.0.0.1:.*",
            r"  [\d:.]{12} late Metadata orders: .*, answered by a fault",
            r"  [\d:.]{12} later Metadata orders: .*",
            r"  [\d:.]{12} early \(since an earlier test\) Heartbeat group g: waiting, dropped by a fault",
        ],
    )
    assert "What may be wrong" not in ran.stdout.str()


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


def test_nothing_else_imports_pytest() -> None:
    code = "import sys, kcompat.cli.main, kcompat.testing; kcompat.Broker; print('pytest' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
