"""Tests that share a broker by the plugin of pytest: resets, things left behind, and reports of failures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from support.plugin_asking import ASKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    Run = Callable[..., pytest.RunResult]

pytest_plugins = ["pytester", "support.plugin_runs"]

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
