"""The handler of WriteTxnMarkers."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from kcompat.transaction.markers import Marker
from kcompat.transaction.requests import Producer
from support.asking import Denying
from support.transaction_apis import TransactionHandlers

Row = WriteTxnMarkersRequest.WritableTxnMarker
Topic = WriteTxnMarkersRequest.WritableTxnMarkerTopic
REQUEST = WriteTxnMarkersRequest(
    markers=[
        Row(7, 3, True, [Topic("t1", [0, 1])], 5, 2),
        Row(7, 3, False, [Topic("t2", [0])], 5, 2),
        Row(8, 0, False, [Topic("t1", [0])], 6),
    ]
)


def told(answer: Any) -> list[tuple[int, dict[tuple[str, int], int]]]:
    return [
        (
            row.producer_id,
            {
                (topic.name, each.partition_index): each.error_code
                for topic in row.topics
                for each in topic.partitions
            },
        )
        for row in answer.markers
    ]


@pytest.mark.parametrize("version", range(3))
def test_markers_are_written(version: int) -> None:
    broker = TransactionHandlers()
    broker.markers.errors = {("t2", 0): ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert told(broker.ask(REQUEST, version)) == [
        (7, {("t1", 0): 0, ("t1", 1): 0, ("t2", 0): 6}),
        (8, {("t1", 0): 0}),
    ]
    of_second = 2 if version >= 2 else 0
    assert broker.markers.written == [
        Marker(Producer(7, 3), 5, True, of_second, (("t1", 0), ("t1", 1))),
        Marker(Producer(7, 3), 5, False, of_second, (("t2", 0),)),
        Marker(Producer(8, 0), 6, False, 0, (("t1", 0),)),
    ]


def test_it_takes_one_of_two_permissions() -> None:
    broker = TransactionHandlers()
    broker.authorizer = Denying((Operation.ALTER, CLUSTER))
    assert told(broker.ask(REQUEST, 1))[1] == (8, {("t1", 0): 0})
    broker.authorizer = Denying((Operation.CLUSTER_ACTION, CLUSTER))
    assert told(broker.ask(REQUEST, 1))[1] == (8, {("t1", 0): 0})
    broker.authorizer = Denying((Operation.CLUSTER_ACTION, CLUSTER), (Operation.ALTER, CLUSTER))
    broker.markers.written.clear()
    assert told(broker.ask(REQUEST, 1)) == [
        (7, {("t1", 0): 31, ("t1", 1): 31, ("t2", 0): 31}),
        (8, {("t1", 0): 31}),
    ]
    assert not broker.markers.written


def test_of_nothing_comes_nothing() -> None:
    assert TransactionHandlers().ask(WriteTxnMarkersRequest(), 1).markers == []
