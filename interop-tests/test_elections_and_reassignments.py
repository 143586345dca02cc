"""Elections, reassignments, features and moves between log directories: a real Kafka 3.9.2 with ZooKeeper and
we answer the same, and its tools print the same of both.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcompat.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcompat.protocol.messages.elect_leaders import ElectLeadersRequest
from kcompat.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kcompat.protocol.messages.update_features import UpdateFeaturesRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient
from support.raw_requests import produce
from tool_bench import side_by_side
from zookeeper_kafka import ZooKeeper, ZooKeeperKafka

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcompat.protocol.message import Message
    from support.broker_process import BrokerProcess

pytestmark = pytest.mark.thorough("the differential test plays most of it on one broker and on three")

Topic = CreateTopicsRequest.CreatableTopic
Elected = ElectLeadersRequest.TopicPartitions
Moved = AlterPartitionReassignmentsRequest.ReassignableTopic
Move = AlterPartitionReassignmentsRequest.ReassignablePartition
Listed = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
Directory = AlterReplicaLogDirsRequest.AlterReplicaLogDir
InDirectory = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic

Update = UpdateFeaturesRequest.FeatureUpdateKey

ELECTIONS = [Elected("t", [0, 1, 5]), Elected("none", [0])]
MOVES = [
    Moved("t", [Move(0, [1]), Move(1, [1, 9]), Move(5, [1])]),
    Moved("none", [Move(0, [1]), Move(1, None)]),
]
ODD_MOVES = [Moved("t", [Move(0, []), Move(1, [1, 1]), Move(2, [-1])]), Moved("u", [Move(0, None)])]
LEVELS = (-1, 0, 1, 2)
UPDATES = [
    *(Update(f"up to {level}", level) for level in LEVELS),
    *(Update(name, 1) for name in ("metadata.version", "kraft.version", "")),
]
OLD_UPDATES = [*UPDATES, *(Update(f"down to {level}", level, allow_downgrade=True) for level in LEVELS)]
NEW_UPDATES = [
    *UPDATES,
    *(
        Update(f"kind {kind}, to {level}", level, upgrade_type=kind)
        for kind in (-1, 0, 2, 3, 4)
        for level in LEVELS
    ),
]


NOW_MS = int(time.time() * 1000)
BIG = build_batch([Record(0, NOW_MS, None, bytes(900_000))])
COUNT_OF_BIG = 9
"""More than is copied in a minute with `SLOW`."""
SLOW = 1000


@dataclass(frozen=True)
class Asked:
    """A broker with two log directories, and a connection to it."""

    broker: BrokerProcess
    client: RawClient

    def directory(self, name: str) -> str:
        """The path of one of its log directories."""
        return f"{self.broker.home}/{name}"


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Asked, Asked]]:
    """Kafka, and ours; both have the topics "t", of three partitions, "u", and "big", of some megabytes."""
    settings = {"log.dirs": "HOME/one,HOME/other"}
    with (
        ZooKeeper() as zookeeper,
        ZooKeeperKafka(zookeeper, properties=settings) as kafka,
        KcompatBroker(
            {**settings, "broker.id": "1", "zookeeper.connect": f"{zookeeper.bootstrap}/ours"}
        ) as ours,
    ):
        addresses = [("127.0.0.1", broker.port) for broker in (kafka, ours)]
        with RawClient(addresses[0], 30) as one, RawClient(addresses[1], 30) as other:
            topics = [Topic("t", 3, 1), Topic("u", 1, 1), Topic("big", 1, 1)]
            for client in (one, other):
                created = client.call(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7)
                assert [row.error_code for row in created.topics] == [0, 0, 0]
                for _ in range(COUNT_OF_BIG):
                    while produce(client, "big", BIG).error_code:
                        time.sleep(0.1)  # its leader has not heard of it yet
            yield Asked(kafka, one), Asked(ours, other)


@pytest.fixture(scope="module")
def clients(both: tuple[Asked, Asked]) -> tuple[RawClient, RawClient]:
    """To Kafka and to ours."""
    return both[0].client, both[1].client


def rows(response: Any) -> dict[str, Any]:
    """Return the errors of a response, by topic and partition, and for the whole."""
    answer: dict[str, Any] = {"error": getattr(response, "error_code", 0)}
    for row in getattr(response, "results", []):
        answer[row.feature] = (row.error_code, row.error_message)
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
        (UpdateFeaturesRequest(feature_updates=OLD_UPDATES), 0),
        (UpdateFeaturesRequest(feature_updates=NEW_UPDATES), 1),
        *((UpdateFeaturesRequest(feature_updates=[]), version) for version in range(2)),
    ],
)
def test_the_answers_are_the_same(
    clients: tuple[RawClient, RawClient], request_: Message, version: int
) -> None:
    kafka, ours = (rows(client.call(request_, version)) for client in clients)
    assert ours == {key: _plain(answer) for key, answer in kafka.items()}


def test_the_features_are_the_same(clients: tuple[RawClient, RawClient]) -> None:
    kafka, ours = (client.call(ApiVersionsRequest("raw", "1"), 3) for client in clients)
    for name in ("supported_features", "finalized_features", "finalized_features_epoch"):
        assert getattr(ours, name) == getattr(kafka, name)


def _plain(answer: Any) -> Any:
    """Return Kafka's answer without Scala's names of its lists."""
    match answer:
        case (int(error), str(message)):
            return error, re.sub(r"(?:ArrayBuffer|Set)\((.*?)\)", r"[\1]", message)
        case _:
            return answer


LONG = "x" * 214
"""Too long for the name of a copy."""


def moved(asked: Asked, version: int, *dirs: tuple[str, str, list[int]]) -> dict[str, int]:
    """Return the answer of AlterReplicaLogDirs by partition; `dirs` has directory, topic and partitions."""
    request = AlterReplicaLogDirsRequest(
        [
            Directory(name if name.startswith("/") else asked.directory(name), [InDirectory(topic, indexes)])
            for name, topic, indexes in dirs
        ]
    )
    return {
        f"{topic.topic_name}-{row.partition_index}": row.error_code
        for topic in asked.client.call(request, version).results
        for row in topic.partitions
    }


def shown(asked: Asked, topic: str) -> list[tuple[str, int, bool, bool]]:
    """Directory, partition, whether it is behind, whether it is a copy."""
    answer = asked.client.call(DescribeLogDirsRequest(topics=None), 4)
    return sorted(
        (
            result.log_dir.removeprefix(f"{asked.broker.home}/"),
            row.partition_index,
            row.offset_lag > 0,
            row.is_future_key,
        )
        for result in answer.results
        for each in result.topics
        for row in each.partitions
        if each.name == topic
    )


def shown_in_the_end(asked: Asked, topic: str, expected: list[tuple[str, int, bool, bool]]) -> None:
    eventually(lambda: shown(asked, topic) == expected, lambda: shown(asked, topic))


@pytest.mark.parametrize("version", range(3))
def test_moves_between_directories_are_answered_and_made_as_by_kafka(
    both: tuple[Asked, Asked], version: int
) -> None:
    there, back = ("other", "one") if version % 2 else ("one", "other")
    questions = [
        [(there, "t", [0, 1, 2])],
        [(there, "t", [0]), ("/nowhere", "t", [1, 2])],
        [(there, "none", [0]), (there, "t", [7]), (there, LONG, [0]), ("/nowhere", LONG[1:], [0])],
        [("", "t", [0])],
        [],
    ]
    for question in questions:
        kafka, ours = (moved(asked, version, *question) for asked in both)
        assert ours == kafka
    for asked in both:
        shown_in_the_end(asked, "t", [(there, index, False, False) for index in range(3)])
        assert moved(asked, version, (back, "t", [1])) == {"t-1": 0}
        placed = [(there, 0), (back, 1), (there, 2)]
        shown_in_the_end(asked, "t", sorted((name, index, False, False) for name, index in placed))
        assert produce(asked.client, "t", build_batch([Record(0, NOW_MS, None, b"v")]), 1).error_code == 0


def _directories(*names: str) -> str:
    row = {"topic": "big", "partition": 0, "replicas": [1], "log_dirs": list(names)}
    return json.dumps({"version": 1, "partitions": [row]})


FILES = {
    "one.json": _directories("HOME1/one"),
    "other.json": _directories("HOME1/other"),
    "nowhere.json": _directories("/nowhere"),
}
TOOLS = f"""
reassign --execute --reassignment-json-file FILES/one.json
reassign --verify --reassignment-json-file FILES/one.json
log-dirs --describe --topic-list big
reassign --execute --reassignment-json-file FILES/other.json --replica-alter-log-dirs-throttle {SLOW}
log-dirs --describe --topic-list big
reassign --verify --reassignment-json-file FILES/other.json
configs --describe --entity-type brokers --entity-name 1
reassign --cancel --reassignment-json-file FILES/other.json
reassign --execute --additional --reassignment-json-file FILES/one.json
log-dirs --describe --topic-list big
reassign --execute --reassignment-json-file FILES/nowhere.json
reassign --execute --reassignment-json-file FILES/other.json --replica-alter-log-dirs-throttle 1000000000
reassign --verify --reassignment-json-file FILES/other.json
log-dirs --describe --topic-list big
configs --describe --entity-type brokers --entity-name 1
get-offsets --topic big
"""


@pytest.mark.timeout(300)
def test_tools_print_the_same_of_moves_between_directories(both: tuple[Asked, Asked], tmp_path: Path) -> None:
    kafka, ours = ({1: asked.broker} for asked in both)
    with side_by_side("3.9.2", ours, kafka, FILES, tmp_path) as benches:
        benches.compare(TOOLS)
