"""DescribeQuorum over the metadata store."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import describe_quorum
from kcompat.cluster.image import BrokerInfo, ClusterImage
from kcompat.cluster.quorum import QuorumState
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_quorum import DescribeQuorumRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import NOW_MS, Denying, ask, services_of

Topic, Partition = DescribeQuorumRequest.TopicData, DescribeQuorumRequest.PartitionData
METADATA = DescribeQuorumRequest([Topic("__cluster_metadata", [Partition(0)])])
STATE = QuorumState(controller_id=2, controller_epoch=7, last_zxid=90)
IMAGE = ClusterImage(
    "cluster",
    brokers={
        number: BrokerInfo(number, None, {"PLAINTEXT": (f"host{number}", 9090 + number), "B": ("h", 1)})
        for number in (3, 1, 2)
    },
)


class Known:
    """A quorum in this state, or one whose state cannot be read."""

    def __init__(self, state: QuorumState | None = STATE) -> None:
        self._state = state

    def read(self) -> Promise[QuorumState | None]:
        """Return the state."""
        return Promise.resolved(self._state)


class Holder:
    """A cluster image."""

    def __init__(self, image: ClusterImage) -> None:
        self.image = image


def described(
    version: int, request: DescribeQuorumRequest = METADATA, image: ClusterImage = IMAGE, **parts: Any
) -> Any:
    """Return the answer of broker 1."""
    usual = {"broker_id": 1, "metadata": Holder(image), "quorum": Known(), "keeps_metadata": False}
    services = services_of(**{**usual, **parts})
    return ask(describe_quorum, version, request, services)


@pytest.mark.parametrize("version", range(3))
def test_the_controller_is_the_only_voter_and_other_brokers_are_observers(version: int) -> None:
    answer = described(version)
    assert answer.error_code == 0
    (topic,) = answer.topics
    (row,) = topic.partitions
    assert (topic.topic_name, row.partition_index, row.error_code) == ("__cluster_metadata", 0, 0)
    assert (row.leader_id, row.leader_epoch, row.high_watermark) == (2, 7, 90)
    assert [(voter.replica_id, voter.log_end_offset) for voter in row.current_voters] == [(2, 90)]
    assert [(each.replica_id, each.log_end_offset) for each in row.observers] == [(1, 90), (3, -1)]


def test_who_is_up_to_date_is_so_now_and_nothing_is_known_of_others() -> None:
    row = described(1).topics[0].partitions[0]
    replicas = [*row.current_voters, *row.observers]
    assert [each.last_fetch_timestamp for each in replicas] == [NOW_MS, NOW_MS, -1]
    assert [each.last_caught_up_timestamp for each in replicas] == [NOW_MS, NOW_MS, -1]


def test_the_address_of_the_controller_for_the_client_is_told_from_version_2_on() -> None:
    assert described(1).nodes == []
    (node,) = described(2).nodes
    assert node.node_id == 2
    assert [(each.name, each.host, each.port) for each in node.listeners] == [("PLAINTEXT", "host2", 9092)]


def test_a_controller_that_this_broker_does_not_know_yet_has_no_listeners() -> None:
    answer = described(2, image=ClusterImage("cluster", brokers={1: IMAGE.brokers[1]}))
    assert [(node.node_id, node.listeners) for node in answer.nodes] == [(2, [])]
    assert answer.topics[0].partitions[0].current_voters[0].replica_id == 2


@pytest.mark.parametrize(
    "topics",
    [
        [("other", [0])],
        [("__cluster_metadata", [1])],
        [("__cluster_metadata", [0, 1])],
        [("__cluster_metadata", [0, 0])],
        [("__cluster_metadata", [0]), ("other", [])],
        [("__cluster_metadata", [])],
        [],
    ],
)
def test_anything_but_the_metadata_partition_alone_is_unknown(topics: list[tuple[str, list[int]]]) -> None:
    request = DescribeQuorumRequest([Topic(name, list(map(Partition, rows))) for name, rows in topics])
    answer = described(2, request)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answer.error_code == 0
    assert [
        (topic.topic_name, [(row.partition_index, row.error_code) for row in topic.partitions])
        for topic in answer.topics
    ] == [(name, [(index, unknown) for index in rows]) for name, rows in topics]


def test_without_a_controller_there_is_no_leader() -> None:
    assert described(2, quorum=Known(None)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_client_that_may_not_describe_the_cluster_is_refused() -> None:
    answer = described(2, authorizer=Denying((Operation.DESCRIBE, CLUSTER)))
    assert (answer.error_code, answer.topics) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])
