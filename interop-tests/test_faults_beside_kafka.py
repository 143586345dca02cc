"""Faults on purpose beside the same faults of a Kafka 3.9.2, as clients see them.

The Kafka is brought to each fault as people would: by a limit, a quota, a second producer, a stopped process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from broker_cluster import BrokerCluster
from drivers.troubled import FAMILIES, TIMEOUT_S, TOO_LARGE
from kcompat import Broker
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from real_kafka import RealKafka
from small_disk import SmallDisk
from support.eventually import Patience, eventually
from support.raw_client import RawClient
from support.raw_requests import produce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kcompat.embedded.fault import Fault

SESSION_MS = 6000
SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
pytestmark = pytest.mark.thorough("test_faults_and_clients.py has faults of ours without a Kafka")

MEMBER = """
import sys, confluent_kafka
bootstrap, topic, session_ms = sys.argv[1:]
consumer = confluent_kafka.Consumer({
    "bootstrap.servers": bootstrap, "group.id": topic, "client.id": "stopped",
    "session.timeout.ms": int(session_ms), "heartbeat.interval.ms": 500,
})
note = lambda text: lambda *_: print(text, flush=True)
consumer.subscribe([topic], on_assign=note("assigned"), on_revoke=note("revoked"), on_lost=note("lost"))
while True:
    consumer.poll(0.1)
"""


@pytest.fixture(scope="module")
def ours() -> Iterator[Broker]:
    with Broker(config={**SETTINGS, "group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker


@pytest.fixture(scope="module")
def theirs() -> Iterator[RealKafka]:
    with RealKafka(properties=SETTINGS) as kafka:
        yield kafka


def create(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, config=config)])[topic].result(TIMEOUT_S)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_record_is_too_large(ours: Broker, theirs: RealKafka, name: str, family: str) -> None:
    create(theirs.bootstrap, name, **{"max.message.bytes": "10"})
    client = FAMILIES[family]
    with ours.faults.fail("Produce", "MESSAGE_TOO_LARGE", topic=name):
        on_ours = client.send(ours.bootstrap_servers, name, idempotent=False)
    assert on_ours == client.send(theirs.bootstrap, name, idempotent=False) == TOO_LARGE[family]


@pytest.fixture(scope="module")
def two_kafkas() -> Iterator[BrokerCluster]:
    with BrokerCluster(("kafka",) * 2) as cluster:
        yield cluster


@pytest.mark.parametrize("retries", [5, 0])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_leader_has_moved(
    ours: Broker, two_kafkas: BrokerCluster, name: str, family: str, retries: int
) -> None:
    """A producer that asks the former leader looks for the new one, or reports that there is another."""

    def move_leader() -> None:
        two_kafkas.reassign(name, 0, (2, 1))
        two_kafkas.elect_preferred()

    two_kafkas.create_topic(name, 1, placed=[(1, 2)])
    client = FAMILIES[family]
    on_theirs = client.send_again(two_kafkas.bootstrap, name, move_leader, retries=retries)
    create(ours.bootstrap_servers, name)

    def fail_once() -> None:
        faults.append(ours.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic=name, times=1))

    faults: list[Fault] = []
    on_ours = client.send_again(ours.bootstrap_servers, name, fail_once, retries=retries)
    assert faults[0].struck == 1
    assert on_ours == on_theirs
    # librdkafka and aiokafka do not count this error as an attempt.
    assert (on_ours == "offset 1") == (retries > 0 or family != "kafka-python")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_producer_is_fenced(ours: Broker, theirs: RealKafka, name: str, family: str) -> None:
    client = FAMILIES[family]

    def second_producer() -> None:
        second = confluent_kafka.Producer({"bootstrap.servers": theirs.bootstrap, "transactional.id": name})
        second.init_transactions(TIMEOUT_S)

    create(theirs.bootstrap, name)
    on_theirs = client.commit_fenced(theirs.bootstrap, name, second_producer)
    on_ours = client.commit_fenced(ours.bootstrap_servers, name, lambda: ours.fence_producer(name))
    assert on_ours == on_theirs != "committed"


def throttle_times(bootstrap: str, topic: str) -> list[float]:
    """The times that the callback of a producer is told, until there is one."""
    told: list[float] = []
    settings = {
        "bootstrap.servers": bootstrap,
        "client.id": topic,
        "throttle_cb": lambda event: told.append(event.throttle_time),
    }
    producer = confluent_kafka.Producer(settings)
    patience = Patience(TIMEOUT_S)
    while not told:
        assert patience.lasts, "no throttle_cb"
        producer.produce(topic, bytes(5000))
        producer.flush(TIMEOUT_S)
        producer.poll(0)
    return told


def limit(bootstrap: str, client_id: str, rate: float) -> None:
    """Give a client a quota of so many bytes a second."""
    host, _, port = bootstrap.rpartition(":")
    entity = [AlterClientQuotasRequest.EntityData("client-id", client_id)]
    operation = [AlterClientQuotasRequest.OpData("producer_byte_rate", rate)]
    request = AlterClientQuotasRequest([AlterClientQuotasRequest.EntryData(entity, operation)])
    with RawClient((host, int(port))) as client:
        assert client.call(request, 1).entries[0].error_code == 0


def test_a_client_is_throttled(ours: Broker, theirs: RealKafka, name: str) -> None:
    create(theirs.bootstrap, name)
    limit(theirs.bootstrap, name, 1000)
    with ours.faults.throttle("Produce", ms=500, client_id=name):
        assert throttle_times(ours.bootstrap_servers, name)[0] == 0.5
    assert throttle_times(theirs.bootstrap, name)[0] > 0


@contextmanager
def member(bootstrap: str, topic: str) -> Iterator[subprocess.Popen[str]]:
    """A consumer in a process of its own, which prints the calls that it gets."""
    program = [sys.executable, "-c", MEMBER, bootstrap, topic, str(SESSION_MS)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def calls_around(bootstrap: str, topic: str, expire: Callable[[subprocess.Popen[str]], object]) -> list[str]:
    """The calls that a consumer gets before and after its session has ended."""
    with member(bootstrap, topic) as process:
        assert process.stdout is not None
        calls = [process.stdout.readline().strip()]
        expire(process)
        while calls.count("assigned") < 2:
            calls.append(process.stdout.readline().strip())
    return calls


def test_the_session_of_a_member_ends(ours: Broker, theirs: RealKafka, name: str) -> None:
    def stop_for_a_session(process: subprocess.Popen[str]) -> None:
        admin = AdminClient({"bootstrap.servers": theirs.bootstrap})
        os.kill(process.pid, signal.SIGSTOP)
        patience = Patience(TIMEOUT_S)
        while members(admin, name):
            assert patience.lasts, "the member is still there"
        os.kill(process.pid, signal.SIGCONT)

    for bootstrap in (ours.bootstrap_servers, theirs.bootstrap):
        create(bootstrap, name)
    on_theirs = calls_around(theirs.bootstrap, name, stop_for_a_session)
    on_ours = calls_around(
        ours.bootstrap_servers, name, lambda _: ours.expire_member(name, client_id="stopped")
    )
    assert on_ours == on_theirs == ["assigned", "lost", "assigned"]


def members(admin: AdminClient, group: str) -> list[Any]:
    return list(admin.describe_consumer_groups([group])[group].result(TIMEOUT_S).members)


BATCH = build_batch([Record(0, 1, None, bytes(100_000))])


def append_until(bootstrap: str, topic: str, count: int) -> list[set[int]]:
    """Append to both partitions of a topic this often, or until one fails; the errors of each time."""
    host, _, port = bootstrap.rpartition(":")
    errors: list[set[int]] = []
    with RawClient((host, int(port))) as client:
        while len(errors) < count and (not errors or errors[-1] == {0}):
            errors.append({produce(client, topic, BATCH, each, 1).error_code for each in (0, 1)})
    return errors


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_one_of_two_disks_is_full(name: str, tmp_path: Path) -> None:
    """Producers see the same error; a Kafka's directory is offline then, and ours takes records again."""
    disk = SmallDisk(tmp_path / "small")
    disk.mount()
    try:
        with RealKafka(properties={**SETTINGS, "log.dirs": f"HOME/data,{tmp_path}/small"}) as theirs:
            create(theirs.bootstrap, name, partitions=2)
            eventually(lambda: append_until(theirs.bootstrap, name, 1) == [{0}], "both partitions are led")
            assert append_until(theirs.bootstrap, name, 2) == [{0}, {0}]
            disk.fill()
            on_theirs = append_until(theirs.bootstrap, name, 100)
    finally:
        disk.unmount()
    directories = [str(tmp_path / each) for each in ("one", "two")]
    with Broker(config={**SETTINGS, "log.dirs": directories}) as ours:
        create(ours.bootstrap_servers, name, partitions=2)
        with ours.disk.fill(directories[0]):
            on_ours = append_until(ours.bootstrap_servers, name, 100)
        assert append_until(ours.bootstrap_servers, name, 1) == [{0}]
        with ours.disk.fail(directories[1]):
            assert append_until(ours.bootstrap_servers, name, 100)[-1] == on_ours[-1]
    assert on_theirs[-1] == on_ours[-1] == {0, ErrorCode.KAFKA_STORAGE_ERROR}
