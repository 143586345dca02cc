"""How markers come to the leaders of their partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.cluster.image import ClusterImage
from kcompat.net.answers import CLOSE
from kcompat.peer.errors import PeerError
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.write_txn_markers import WriteTxnMarkersResponse
from kcompat.transaction.marker_routes import MarkerRoutes
from kcompat.transaction.markers import Marker
from kcompat.transaction.requests import Producer
from support.among_brokers import HERE, THERE, Scene, play
from support.transaction_apis import WrittenMarkers

if TYPE_CHECKING:
    from support.scripted_broker import Asked

COMMIT = Marker(Producer(7, 3), 5, True, 2, (("t", 1), ("u", 0)))
ABORT = Marker(Producer(8, 0), 6, False, 0, (("t", 1),))
Response = WriteTxnMarkersResponse


def routes(scene: Scene, here: WrittenMarkers | None = None) -> MarkerRoutes:
    return MarkerRoutes(here or WrittenMarkers(), scene.peers, scene.cluster, scene.config)


def refuse_u(asked: Asked) -> Any:
    """Answers in an order of its own."""
    return Response(
        [
            Response.WritableTxnMarkerResult(
                row.producer_id,
                [
                    Response.WritableTxnMarkerTopicResult(
                        topic.name,
                        [
                            Response.WritableTxnMarkerPartitionResult(index, 6 if topic.name == "u" else 0)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in row.topics
                ],
            )
            for row in reversed(asked.request.markers)
        ]
    )


def test_who_leads() -> None:
    async def scene(scene: Scene) -> None:
        found = [
            routes(scene).leader_of(each) for each in (("t", 0), ("t", 1), ("t", 2), ("t", 3), ("no", 0))
        ]
        assert found == [HERE, THERE, -1, None, None]

    play(scene, refuse_u)


def test_who_was_shown_nothing_yet_takes_nothing_for_deleted() -> None:
    async def scene(scene: Scene) -> None:
        scene.cluster.update(ClusterImage("the-cluster"))
        assert routes(scene).leader_of(("t", 0)) == -1

    play(scene, refuse_u)


def test_those_of_this_broker_are_written_straight() -> None:
    async def scene(scene: Scene) -> None:
        here = WrittenMarkers()
        here.errors = {("u", 0): ErrorCode.NOT_LEADER_OR_FOLLOWER}
        written = routes(scene, here).write(HERE, [COMMIT, ABORT])
        assert written.value == [{("t", 1): 0, ("u", 0): 6}, {("t", 1): 0}]
        assert here.written == [COMMIT, ABORT]
        assert not scene.other.asked

    play(scene, refuse_u)


def test_those_of_another_go_in_one_request() -> None:
    async def scene(scene: Scene) -> None:
        written = routes(scene).write(THERE, [COMMIT, ABORT])
        assert await scene.outcome(written) == [{("t", 1): 0, ("u", 0): 6}, {("t", 1): 0}]
        (asked,) = scene.other.asked
        rows = [
            (row.producer_id, row.producer_epoch, row.transaction_result, row.coordinator_epoch)
            for row in asked.request.markers
        ]
        assert rows == [(7, 3, True, 5), (8, 0, False, 6)]

    play(scene, refuse_u)


def test_a_broker_that_does_not_answer() -> None:
    async def scene(scene: Scene) -> None:
        with pytest.raises(PeerError):
            await scene.outcome(routes(scene).write(THERE, [COMMIT]))

    play(scene, lambda _: CLOSE)


def test_a_marker_that_is_not_answered_for() -> None:
    async def scene(scene: Scene) -> None:
        assert await scene.outcome(routes(scene).write(THERE, [COMMIT])) == [{}]

    play(scene, lambda _: Response())
