"""Elections and reassignments asked of a real Kafka 3.9.2 with ZooKeeper and of ours: the same answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.elect_leaders import ElectLeadersRequest
from kcompat.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.protocol.message import Message

Topic = CreateTopicsRequest.CreatableTopic
Elected = ElectLeadersRequest.TopicPartitions
Moved = AlterPartitionReassignmentsRequest.ReassignableTopic
Move = AlterPartitionReassignmentsRequest.ReassignablePartition
Listed = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics

ELECTIONS = [Elected("t", [0, 1, 5]), Elected("none", [0])]
MOVES = [
    Moved("t", [Move(0, [1]), Move(1, [1, 9]), Move(5, [1])]),
    Moved("none", [Move(0, [1]), Move(1, None)]),
]
ODD_MOVES = [Moved("t", [Move(0, []), Move(1, [1, 1]), Move(2, [-1])]), Moved("u", [Move(0, None)])]


@pytest.fixture(scope="module")
def clients() -> Iterator[tuple[RawClient, RawClient]]:
    """To Kafka and to ours; both have the topics "t", of three partitions, and "u"."""
    with ZooKeeper() as zookeeper, ZooKeeperKafka(zookeeper) as kafka, KcompatBroker() as ours:
        addresses = [("127.0.0.1", broker.port) for broker in (kafka, ours)]
        with RawClient(addresses[0], 30) as one, RawClient(addresses[1], 30) as other:
            topics = [Topic("t", 3, 1), Topic("u", 1, 1)]
            for client in (one, other):
                created = client.call(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7)
                assert [row.error_code for row in created.topics] == [0, 0]
            yield one, other


def rows(response: Any) -> dict[str, Any]:
    """What was answered, by topic and partition, and for the whole."""
    answer: dict[str, Any] = {"error": getattr(response, "error_code", 0)}
    for topic in getattr(response, "replica_election_results", []):
        for row in topic.partition_result:
            answer[f"{topic.topic}-{row.partition_id}"] = (row.error_code, row.error_message)
    for topic in getattr(response, "responses", []):
        for row in topic.partitions:
            answer[f"{topic.name}-{row.partition_index}"] = (row.error_code, row.error_message)
    for topic in getattr(response, "topics", []):
        for row in topic.partitions:
            replicas = (row.replicas, row.adding_replicas, row.removing_replicas)
            answer[f"{topic.name}-{row.partition_index}"] = replicas
    return answer


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        *((ElectLeadersRequest(0, ELECTIONS), version) for version in range(3)),
        *((ElectLeadersRequest(1, ELECTIONS), version) for version in (1, 2)),
        *((ElectLeadersRequest(0, None), version) for version in range(3)),
        (ElectLeadersRequest(0, []), 2),
        (AlterPartitionReassignmentsRequest(topics=MOVES), 0),
        (AlterPartitionReassignmentsRequest(topics=ODD_MOVES), 0),
        (AlterPartitionReassignmentsRequest(topics=[]), 0),
        (ListPartitionReassignmentsRequest(topics=None), 0),
        (ListPartitionReassignmentsRequest(topics=[Listed("t", [0, 7]), Listed("none", [0])]), 0),
    ],
)
def test_the_answers_are_the_same(
    clients: tuple[RawClient, RawClient], request_: Message, version: int
) -> None:
    kafka, ours = (rows(client.call(request_, version)) for client in clients)
    assert ours == {key: _plain(answer) for key, answer in kafka.items()}


def _plain(answer: Any) -> Any:
    """What Kafka says, without Scala's names of its lists."""
    match answer:
        case (int(error), str(message)):
            return error, re.sub(r"(?:ArrayBuffer|Set)\((.*?)\)", r"[\1]", message)
        case _:
            return answer
