"""Faults on purpose as the clients of three families see them: as errors, as retries, and in callbacks.

Each client does what it does with a Kafka: it hides an error that it may retry, reports one that it may not,
and sends a record again after a lost answer, without writing it twice if it is idempotent.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import confluent_kafka
import pytest

from drivers.troubled import FAMILIES, TIMEOUT_S, TOO_LARGE
from kcompat import Broker, Cluster
from support.eventually import Patience, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.embedded.fault import Fault

SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}


@pytest.fixture(scope="module")
def faulty() -> Iterator[Broker]:
    with Broker(config=SETTINGS) as broker:
        yield broker


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


slower = pytest.mark.thorough("tests/unit/instrumentation/faults shows the answers")
idempotent = pytest.mark.parametrize("idempotent", [False, pytest.param(True, marks=slower)])


@idempotent
def test_a_retriable_error_of_a_produce_is_hidden(
    faulty: Broker, family: str, name: str, idempotent: bool
) -> None:
    with faulty.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic=name, times=2) as fault:
        assert FAMILIES[family].send(faulty.bootstrap_servers, name, idempotent=idempotent) == "offset 0"
    assert fault.struck == 2
    assert FAMILIES[family].read(faulty.bootstrap_servers, name, 1) == [b"value"]


def test_a_final_error_of_a_produce_is_reported(faulty: Broker, family: str, name: str) -> None:
    with faulty.faults.fail("Produce", "MESSAGE_TOO_LARGE", topic=name):
        sent = FAMILIES[family].send(faulty.bootstrap_servers, name, idempotent=False)
    assert sent == TOO_LARGE[family]
    assert FAMILIES[family].send(faulty.bootstrap_servers, name, idempotent=False) == "offset 0"


@slower
@idempotent
def test_a_lost_answer_costs_a_second_record_unless_the_producer_is_idempotent(
    faulty: Broker, family: str, name: str, idempotent: bool
) -> None:
    with faulty.faults.disconnect("Produce", topic=name, served=True, times=1) as fault:
        FAMILIES[family].send(faulty.bootstrap_servers, name, idempotent=idempotent)
    assert fault.struck == 1
    last = FAMILIES[family].send(faulty.bootstrap_servers, name, idempotent=idempotent)
    assert last == ("offset 1" if idempotent else "offset 2")


@slower
def test_a_dropped_answer_is_waited_for_and_the_record_sent_again(
    faulty: Broker, family: str, name: str
) -> None:
    with faulty.faults.drop("Produce", topic=name, times=1) as fault:
        sent = FAMILIES[family].send(faulty.bootstrap_servers, name, idempotent=False, request_ms=1000)
    assert fault.struck == 1
    # aiokafka gives a record no more time than a request.
    assert sent == ("RequestTimedOutError" if family == "aiokafka" else "offset 1")


@slower
def test_a_failed_fetch_is_repeated(faulty: Broker, family: str, name: str) -> None:
    client = FAMILIES[family]
    client.send(faulty.bootstrap_servers, name, idempotent=False)
    for error in ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION"):
        with faulty.faults.fail("Fetch", error, topic=name, partition=0, times=2) as fault:
            assert client.read(faulty.bootstrap_servers, name, 1) == [b"value"]
        assert fault.struck == 2


@slower
def test_a_coordinator_that_moves_is_looked_up_again(faulty: Broker, family: str, name: str) -> None:
    with faulty.faults.fail("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", times=2) as fault:
        assert FAMILIES[family].commit_fenced(faulty.bootstrap_servers, name, lambda: None) == "committed"
    assert fault.struck == 2


@slower
def test_a_commit_is_refused_or_repeated(faulty: Broker, family: str, name: str) -> None:
    """A member that its group does not know must not commit; a coordinator that loads is asked again."""
    FAMILIES[family].send(faulty.bootstrap_servers, name, idempotent=False)
    commit = FAMILIES[family].commit
    refused = commit(
        faulty.bootstrap_servers,
        name,
        lambda: faulty.faults.fail("OffsetCommit", "UNKNOWN_MEMBER_ID", topic=name),
    )
    assert refused in ("CommitFailedError", "UNKNOWN_MEMBER_ID")
    faults = []

    def load() -> Fault:
        faults.append(faulty.faults.fail("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS", topic=name, times=2))
        return faults[0]

    assert commit(faulty.bootstrap_servers, name, load) == "committed"
    assert faults[0].struck == 2


def test_a_throttled_client_is_told_for_how_long(faulty: Broker, name: str) -> None:
    told: list[float] = []
    settings = {
        "bootstrap.servers": faulty.bootstrap_servers,
        "client.id": name,
        "throttle_cb": lambda event: told.append(event.throttle_time),
    }
    with faulty.faults.throttle("Produce", ms=400, client_id=name):
        producer = confluent_kafka.Producer(settings)
        producer.produce(name, b"value")
        assert producer.flush(TIMEOUT_S) == 0
        patience = Patience(TIMEOUT_S)
        while not told:
            assert patience.lasts, "no throttle_cb"
            producer.poll(0.1)
    assert told[0] == 0.4


@pytest.fixture(scope="module")
def three() -> Iterator[Cluster]:
    settings = {**SETTINGS, "default.replication.factor": 3, "min.insync.replicas": 2}
    with Cluster(3, config=settings, record_requests=True) as cluster:
        yield cluster


@slower
def test_too_few_brokers_in_sync_are_waited_for(three: Cluster, family: str, name: str) -> None:
    """NOT_ENOUGH_REPLICAS may be repeated; the record is written once the followers are back."""
    assert FAMILIES[family].send(three.bootstrap_servers, name, idempotent=True) == "offset 0"
    three.wait_until_in_sync()
    with ThreadPoolExecutor(1) as thread, three.shrink_isr(name, 0) as fault:
        sending = thread.submit(FAMILIES[family].send, three.bootstrap_servers, name, idempotent=True)
        eventually(lambda: "NOT_ENOUGH_REPLICAS" in errors_of_produces(three, name), "the record is refused")
        fault.remove()
    assert sending.result() == "offset 1"


def errors_of_produces(cluster: Cluster, topic: str) -> list[str]:
    asked = cluster.requests(api="Produce", topic=topic, errors_only=True)
    return [refusal.error for each in asked for refusal in each.errors]


@slower
def test_a_lost_leader_is_found_again(three: Cluster, family: str, name: str) -> None:
    assert FAMILIES[family].send(three.bootstrap_servers, name, idempotent=True) == "offset 0"
    three.wait_until_in_sync()
    bootstrap = three.bootstrap_servers
    with three.lose_leader(name, 0):
        assert FAMILIES[family].send(bootstrap, name, idempotent=True) == "offset 1"


@slower
def test_readers_wait_for_a_hanging_transaction(three: Cluster, name: str) -> None:
    bootstrap = three.bootstrap_servers
    hanging = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    hanging.init_transactions(TIMEOUT_S)
    hanging.begin_transaction()
    hanging.produce(name, b"hangs")
    assert hanging.flush(TIMEOUT_S) == 0
    with three.hang_transaction(name) as fault:
        assert FAMILIES["confluent"].send(bootstrap, name, idempotent=False) == "offset 1"
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": bootstrap, "group.id": name, "isolation.level": "read_committed"}
        )
        place = confluent_kafka.TopicPartition(name, 0, 0)
        assert consumer.get_watermark_offsets(place, TIMEOUT_S) == (0, 0), "the last stable offset"
        assert fault.struck == 1
    consumer.assign([place])
    message, patience = None, Patience(TIMEOUT_S)
    while message is None:
        assert patience.lasts, "nothing was read"
        message = consumer.poll(0.1)
    assert message.value() == b"value", "the record of the aborted transaction is left out"
    consumer.close()
