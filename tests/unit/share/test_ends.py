"""Where partitions end: asked here, or from another leader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.cluster.image import BrokerInfo, ClusterImage, PartitionInfo, TopicImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.peer.errors import PeerError, PeerFault
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kcompat.share.ends import End, PartitionEnds

if TYPE_CHECKING:
    from kcompat.protocol.message import Message


class Elsewhere:
    """The one broker beside this one; it answers as a test says."""

    def __init__(self) -> None:
        self.answer: Promise[Any] = Promise()
        self.asked: list[tuple[int, Message]] = []

    def of(self, broker_id: int, _purpose: str) -> Elsewhere:
        self._broker_id = broker_id
        return self

    def call(self, request: Message, _timeout_ms: float) -> Promise[Any]:
        self.asked.append((self._broker_id, request))
        return self.answer


class NoReplicas:
    """A broker whose replicas are not there yet."""

    def find(self, _topic: str, _index: int) -> ErrorCode:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.fixture
def elsewhere() -> Elsewhere:
    return Elsewhere()


@pytest.fixture
def ends(elsewhere: Elsewhere) -> PartitionEnds:
    """Broker 1, which leads partition 0; 2 leads partition 1, and nobody partition 2."""
    rows = {at: PartitionInfo(leader, 0, (1,), (1,)) for at, leader in enumerate((1, 2, -1))}
    brokers = {broker_id: BrokerInfo(broker_id, None, {}) for broker_id in (1, 2)}
    cluster = MetadataCache("cluster")
    image = ClusterImage("cluster", brokers=brokers)
    cluster.update(image.with_topics([TopicImage("t", bytes(range(16)), rows)]))
    return PartitionEnds(1, NoReplicas(), elsewhere, cluster)


def test_a_leader_elsewhere_is_asked(ends: PartitionEnds, elsewhere: Elsewhere) -> None:
    found = ends.of("t", 1)
    ((broker_id, request),) = elsewhere.asked
    assert broker_id == 2
    assert isinstance(request, ListOffsetsRequest)
    assert (request.replica_id, request.topics[0].partitions[0].timestamp) == (-1, -1)
    row = ListOffsetsResponse.ListOffsetsPartitionResponse(1, offset=7)
    elsewhere.answer.complete(
        ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse("t", [row])])
    )
    assert found.value == End(ErrorCode.NONE, 7)


def test_a_leader_that_does_not_answer(ends: PartitionEnds, elsewhere: Elsewhere) -> None:
    found = ends.of("t", 1)
    elsewhere.answer.fail(PeerError(PeerFault.RESET, "broker 2"))
    assert found.value == End(ErrorCode.NETWORK_EXCEPTION)


def test_nobody_to_ask(ends: PartitionEnds) -> None:
    assert ends.of("t", 0).value == End(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert ends.of("t", 2).value == End(ErrorCode.LEADER_NOT_AVAILABLE)
    assert ends.of("t", 9).value == End(ErrorCode.LEADER_NOT_AVAILABLE)
