"""Another broker as the controller reaches it: requests are sent until they are answered."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import (
    AssignedPartition,
    LeaderAndIsr,
    Reply,
    Role,
    StoppedPartition,
    StopReplica,
    UpdateConfigs,
    UpdateMetadata,
)
from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.net.answers import CLOSE
from kcompat.net.hub import Hub
from kcompat.peer import stop_replica
from kcompat.peer.peers import Peers
from kcompat.peer.remote_broker import RemoteBroker
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from kcompat.protocol.messages.stop_replica import StopReplicaResponse
from kcompat.protocol.messages.update_metadata import UpdateMetadataResponse
from support.scripted_broker import Asked, ScriptedBroker
from support.virtual_loop import VirtualLoopClock, run_virtually
from support.virtual_network import VirtualNetwork

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from kcompat.cluster.control_requests import ControlRequest
    from support.virtual_loop import VirtualLoop

THERE = BrokerInfo(2, None, {"PLAINTEXT": ("there", 9092)})
ONE = b"1" * 16
ROLES = LeaderAndIsr(1, 9, [AssignedPartition("t", ONE, 3, Role(2, 5, (2,), (2, 1)), is_new=True)], [THERE])
PICTURE = UpdateMetadata(1, 9, {2: THERE})
STOPS = StopReplica(1, 9, [StoppedPartition("t", 0, 1, True), StoppedPartition("t", 1, 2, False)])


def fine(asked: Asked) -> object:
    """Everything is taken."""
    match asked.key:
        case ApiKey.LEADER_AND_ISR:
            row = LeaderAndIsrResponse.LeaderAndIsrPartitionError(partition_index=3)
            return LeaderAndIsrResponse(topics=[LeaderAndIsrResponse.LeaderAndIsrTopicError(ONE, [row])])
        case ApiKey.STOP_REPLICA:
            return stop_replica.response_of(
                stop_replica.control_request_of(asked.request).partitions, Reply()
            )
    return UpdateMetadataResponse()


class Scene:
    """Broker 1 is the controller, and broker 2 is there."""

    def __init__(
        self,
        loop: VirtualLoop,
        answer: Callable[[Asked], object],
        served: Mapping[ApiKey, range] | None,
        settings: Mapping[str, str],
    ) -> None:
        self.loop = loop
        self.network = VirtualNetwork(Random(1), lambda _: None)
        clock = VirtualLoopClock(loop)
        config = ConfigFeed(BrokerConfig(settings))
        ports = (self.network.connector("here"), clock, Random(2))
        peers = Peers(1, config, MetadataCache("the-cluster"), ports)
        self.scripted = ScriptedBroker(answer, served)
        self.remote = RemoteBroker(THERE, 77, peers, config, clock)
        self.replies: list[Reply] = []
        self.listen()

    def listen(self) -> None:
        self.hub = Hub(self.loop)
        self.listener = self.network.bind("PLAINTEXT", "there", 9092)
        self.listener.start(self.hub, self.scripted)

    def give(self, news: ControlRequest) -> None:
        self.remote.give(news, self.replies.append)

    @property
    def asked(self) -> list[Asked]:
        return self.scripted.asked


def play(
    scene: Callable[[Scene], Awaitable[None]],
    answer: Callable[[Asked], object] = fine,
    served: Mapping[ApiKey, range] | None = None,
    **settings: str,
) -> None:
    async def program(loop: VirtualLoop) -> None:
        await scene(
            Scene(loop, answer, served, {key.replace("_", "."): value for key, value in settings.items()})
        )

    run_virtually(program)


def test_each_piece_of_news_is_a_request_with_the_brokers_epoch() -> None:
    async def scene(scene: Scene) -> None:
        every: tuple[ControlRequest, ...] = (ROLES, PICTURE, STOPS)
        for number, news in enumerate(every):
            scene.give(news)
            await asyncio.sleep(0.1)
            assert scene.replies == [Reply()] * (number + 1)
        keys = [(asked.key, asked.version, asked.client_id) for asked in scene.asked]
        assert keys == [
            (ApiKey.LEADER_AND_ISR, 7, "1"),
            (ApiKey.UPDATE_METADATA, 8, "1"),
            (ApiKey.STOP_REPLICA, 4, "1"),
            (ApiKey.STOP_REPLICA, 4, "1"),
        ]
        assert {asked.request.broker_epoch for asked in scene.asked} == {77}
        assert scene.asked[0].request.topic_states[0].partition_states[0].is_new

    play(scene)


def test_configurations_are_not_sent() -> None:
    async def scene(scene: Scene) -> None:
        scene.give(UpdateConfigs({}))
        assert scene.replies == [Reply()]
        await asyncio.sleep(1)
        assert not scene.asked

    play(scene)


def test_what_a_broker_keeps_is_stopped_before_what_it_deletes() -> None:
    def answer(asked: Asked) -> StopReplicaResponse:
        state = asked.request.topic_states[0].partition_states[0]
        error = 74 if state.delete_partition else 56
        row = StopReplicaResponse.StopReplicaPartitionError("t", state.partition_index, error)
        return StopReplicaResponse(partition_errors=[row])

    async def scene(scene: Scene) -> None:
        scene.give(STOPS)
        await asyncio.sleep(0.1)
        errors = {("t", 1): ErrorCode.KAFKA_STORAGE_ERROR, ("t", 0): ErrorCode.FENCED_LEADER_EPOCH}
        assert scene.replies == [Reply(partitions=errors)]
        states = [asked.request.topic_states[0].partition_states for asked in scene.asked]
        assert [[(state.partition_index, state.delete_partition) for state in each] for each in states] == [
            [(1, False)],
            [(0, True)],
        ]

    play(scene, answer)


def test_a_stale_controller_is_told_once() -> None:
    async def scene(scene: Scene) -> None:
        scene.give(STOPS)
        await asyncio.sleep(0.1)
        assert scene.replies == [Reply(ErrorCode.STALE_CONTROLLER_EPOCH)]
        assert len(scene.asked) == 1

    play(scene, lambda _: StopReplicaResponse(ErrorCode.STALE_CONTROLLER_EPOCH))


def test_a_broker_that_is_away_is_asked_again_until_it_answers() -> None:
    async def scene(scene: Scene) -> None:
        scene.listener.close()
        scene.hub.stop()
        scene.give(ROLES)
        await asyncio.sleep(20)
        assert not scene.replies
        scene.listen()
        await asyncio.sleep(2)
        assert scene.replies == [Reply()]
        assert len(scene.asked) == 1

    play(scene)


def test_a_connection_that_ends_before_the_answer_is_made_again() -> None:
    answers: Iterator[object] = iter([CLOSE, CLOSE, UpdateMetadataResponse()])

    async def scene(scene: Scene) -> None:
        scene.give(PICTURE)
        await asyncio.sleep(1)
        assert scene.replies == [Reply()]
        assert len(scene.asked) == 3

    play(scene, lambda _: next(answers))


def test_a_broker_that_does_not_answer_in_time_is_asked_again() -> None:
    answers: Iterator[object] = iter([Promise(), UpdateMetadataResponse()])

    async def scene(scene: Scene) -> None:
        scene.give(PICTURE)
        await asyncio.sleep(1.9)
        assert len(scene.asked) == 1
        await asyncio.sleep(0.5)
        assert len(scene.asked) == 2
        assert scene.replies == [Reply()]

    play(scene, lambda _: next(answers), request_timeout_ms="2000")


def test_nothing_is_sent_or_answered_after_the_end() -> None:
    async def scene(scene: Scene) -> None:
        scene.give(PICTURE)
        await asyncio.sleep(0.1)
        scene.remote.close()
        scene.remote.close()
        await asyncio.sleep(60)
        assert len(scene.asked) == 1
        assert not scene.replies
        assert not scene.hub.connections

    play(scene, lambda _: Promise())


def test_the_end_between_two_attempts() -> None:
    async def scene(scene: Scene) -> None:
        scene.listener.close()
        scene.give(PICTURE)
        await asyncio.sleep(0.05)
        scene.remote.close()
        scene.listen()
        await asyncio.sleep(60)
        assert not scene.asked
        assert not scene.replies

    play(scene)


@pytest.mark.parametrize("news", [ROLES, PICTURE, STOPS])
def test_a_broker_that_knows_no_such_request_has_refused_it(
    news: ControlRequest, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(scene: Scene) -> None:
        scene.give(news)
        await asyncio.sleep(1)
        assert scene.replies == [Reply(ErrorCode.UNSUPPORTED_VERSION)]

    play(scene, served={ApiKey.API_VERSIONS: range(5)})
    assert "cannot be sent to broker 2" in caplog.text


def test_who_raises_on_an_answer_is_not_told_twice(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(scene: Scene) -> None:
        replies: list[Reply] = []

        def broken(reply: Reply) -> None:
            replies.append(reply)
            raise ZeroDivisionError

        scene.remote.give(PICTURE, broken)
        await asyncio.sleep(1)
        assert replies == [Reply()]

    play(scene)
    assert "ZeroDivisionError" in caplog.text


def test_an_old_release_among_brokers_has_old_requests() -> None:
    async def scene(scene: Scene) -> None:
        scene.give(STOPS)
        await asyncio.sleep(0.1)
        assert [(asked.version, asked.request.delete_partitions) for asked in scene.asked] == [
            (2, False),
            (2, True),
        ]
        assert scene.replies == [Reply()]

    play(scene, inter_broker_protocol_version="2.5")
