"""Requests of a broker to the current controller, looked up before each attempt until the deadline."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from msgspec.structs import replace

from kcompat.cluster.image import BrokerInfo
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.znodes import ProducerIdBlock
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.net.answers import CLOSE
from kcompat.net.hub import Hub
from kcompat.peer.errors import PeerFault
from kcompat.peer.peers import Peers
from kcompat.peer.remote_controller import RemoteController
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse
from kcompat.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kcompat.protocol.messages.controlled_shutdown import ControlledShutdownResponse
from kcompat.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kcompat.protocol.uuids import ZERO_UUID
from support.current import current
from support.outcomes import answer_to, outcome_of
from support.scripted_broker import Asked, ScriptedBroker
from support.virtual_loop import VirtualLoopClock, run_virtually
from support.virtual_network import VirtualNetwork

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kcompat.net.listener import BoundListener
    from support.virtual_loop import VirtualLoop

    Refusal: TypeAlias = tuple[Promise[AlterPartitionResponse] | Promise[CreateTopicsResponse], object]

ONE = b"1" * 16
NOT_CONTROLLER = 41
API = {ApiKey.API_VERSIONS: range(4)}


class Scene:
    """Broker 1 asks; brokers 2 and 3 are there, and broker 2 is the controller."""

    def __init__(
        self,
        loop: VirtualLoop,
        answers: Mapping[int, Callable[[Asked], object]],
        served: Mapping[ApiKey, range] | None,
        settings: Mapping[str, str],
    ) -> None:
        self.loop = loop
        self.network = VirtualNetwork(Random(1), lambda _: None)
        self.cluster = MetadataCache("the-cluster")
        clock = VirtualLoopClock(loop)
        config = ConfigFeed(BrokerConfig(settings))
        peers = Peers(1, config, self.cluster, (self.network.connector("broker-1"), clock, Random(2)))
        self.controller = RemoteController(1, lambda: 77, peers, self.cluster, config, clock)
        self.scripted: dict[int, ScriptedBroker] = {}
        self.listeners: dict[int, BoundListener] = {}
        for number, answer in answers.items():
            self.scripted[number] = ScriptedBroker(answer, served)
            self.listeners[number] = self.network.bind("PLAINTEXT", f"broker-{number}", 9092)
            self.listeners[number].start(Hub(loop), self.scripted[number])
        self.show(2)

    def show(self, controller_id: int) -> None:
        brokers = {
            number: BrokerInfo(number, None, {"PLAINTEXT": (f"broker-{number}", 9092)})
            for number in self.scripted
        }
        self.cluster.update(replace(self.cluster.image, controller_id=controller_id, brokers=brokers))

    def asked(self, number: int) -> list[Any]:
        return [asked.request for asked in self.scripted[number].asked]


def play(
    scene: Callable[[Scene], Awaitable[None]],
    *answers: Callable[[Asked], object],
    served: Mapping[ApiKey, range] | None = None,
    **settings: str,
) -> None:
    """`answers` are what brokers 2, 3, ... answer."""

    async def program(loop: VirtualLoop) -> None:
        texts = {key.replace("_", "."): value for key, value in settings.items()}
        await scene(Scene(loop, dict(enumerate(answers, 2)), served, texts))

    run_virtually(program)


def proposal(*topic_ids: bytes) -> AlterPartitionRequest:
    topics = [
        AlterPartitionRequest.TopicData(
            f"t{number}",
            topic_id,
            [
                AlterPartitionRequest.PartitionData(
                    partition_index=0,
                    leader_epoch=5,
                    new_isr=[1, 2],
                    new_isr_with_epochs=[AlterPartitionRequest.BrokerState(member) for member in (1, 2)],
                    leader_recovery_state=1,
                    partition_epoch=8,
                )
            ],
        )
        for number, topic_id in enumerate(topic_ids)
    ]
    return AlterPartitionRequest(1, 77, topics)


def test_a_block_of_producer_ids() -> None:
    async def scene(scene: Scene) -> None:
        block = await outcome_of(scene.controller.allocate_producer_ids())
        assert block == ProducerIdBlock(1, 5000, 5999)
        (request,) = scene.asked(2)
        assert (request.broker_id, request.broker_epoch) == (1, 77)
        assert scene.scripted[2].asked[0].client_id == "1"

    play(scene, lambda _: AllocateProducerIdsResponse(0, 0, 5000, 1000))


@pytest.mark.parametrize(
    "response",
    [
        AllocateProducerIdsResponse(0, 77, 0, 0),
        AllocateProducerIdsResponse(0, 0, -1, 1000),
        AllocateProducerIdsResponse(0, 0, 0, 0),
    ],
)
def test_a_block_that_cannot_be_had_now(response: AllocateProducerIdsResponse) -> None:
    async def scene(scene: Scene) -> None:
        assert await outcome_of(scene.controller.allocate_producer_ids()) is None

    play(scene, lambda _: response)


def test_no_block_where_nobody_is_reached() -> None:
    async def scene(scene: Scene) -> None:
        scene.show(-1)
        assert await outcome_of(scene.controller.allocate_producer_ids()) is None
        assert 2 <= scene.loop.time() < 2.2

    play(scene, lambda _: CLOSE, request_timeout_ms="2000")


def test_a_controlled_shutdown() -> None:
    remaining = ControlledShutdownResponse.RemainingPartition("t", 3)

    async def scene(scene: Scene) -> None:
        response = await answer_to(scene.controller.controlled_shutdown())
        assert response.remaining_partitions == [remaining]
        (request,) = scene.asked(2)
        assert (request.broker_id, request.broker_epoch) == (1, 77)

    play(scene, lambda _: ControlledShutdownResponse(0, [remaining]))


def test_topics_of_the_brokers_own_accord() -> None:
    def answer(asked: Asked) -> CreateTopicsResponse:
        rows = [CreateTopicsResponse.CreatableTopicResult(topic.name) for topic in asked.request.topics]
        return CreateTopicsResponse(topics=rows)

    async def scene(scene: Scene) -> None:
        request = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic("t", 1, 1)], 1000)
        response = await answer_to(scene.controller.create_topics(request))
        assert [topic.name for topic in response.topics] == ["t"]

    play(scene, answer)


@pytest.mark.parametrize("version", range(4))
def test_isrs_are_proposed_in_every_version(version: int) -> None:
    async def scene(scene: Scene) -> None:
        response = await answer_to(scene.controller.propose(proposal(ONE)))
        assert response.topics[0].partitions[0].isr == [1, 2]
        (request,) = scene.asked(2)
        topic = request.topics[0]
        assert (topic.topic_name, topic.topic_id) == (("t0", ZERO_UUID) if version < 2 else ("", ONE))
        row = topic.partitions[0]
        assert (row.leader_epoch, row.partition_epoch) == (5, 8)
        assert row.new_isr == ([1, 2] if version < 3 else [])
        assert [member.broker_id for member in row.new_isr_with_epochs] == ([] if version < 3 else [1, 2])
        assert row.leader_recovery_state == (1 if version >= 1 else 0)

    row = AlterPartitionResponse.PartitionData(0, isr=[1, 2])
    response = AlterPartitionResponse(topics=[AlterPartitionResponse.TopicData("t0", ONE, [row])])
    play(scene, lambda _: response, served={**API, ApiKey.ALTER_PARTITION: range(version + 1)})


def test_topics_without_an_id_are_named() -> None:
    async def scene(scene: Scene) -> None:
        await outcome_of(scene.controller.propose(proposal(ONE, ZERO_UUID)))
        assert scene.scripted[2].asked[0].version == 1
        assert [topic.topic_name for topic in scene.asked(2)[0].topics] == ["t0", "t1"]

    play(scene, lambda _: AlterPartitionResponse())


@pytest.mark.parametrize(
    "refusal",
    [
        lambda controller: (
            controller.propose(proposal(ONE)),
            AlterPartitionResponse(error_code=NOT_CONTROLLER),
        ),
        lambda controller: (
            controller.create_topics(CreateTopicsRequest()),
            CreateTopicsResponse(
                topics=[CreateTopicsResponse.CreatableTopicResult("t", error_code=NOT_CONTROLLER)]
            ),
        ),
    ],
)
def test_one_that_is_not_the_controller_is_asked_again_until_another_is_known(
    refusal: Callable[[RemoteController], Refusal],
) -> None:
    answered: list[object] = []

    async def scene(scene: Scene) -> None:
        promise, response = refusal(scene.controller)
        answered.append(response)
        await asyncio.sleep(1)
        count = len(scene.asked(2))
        assert 10 <= count <= 20
        assert not current(promise.done)
        scene.show(3)
        await asyncio.sleep(0.1)
        assert promise.done
        assert len(scene.asked(3)) == 1
        assert len(scene.asked(2)) == count

    def good(asked: Asked) -> object:
        return AlterPartitionResponse() if asked.key == ApiKey.ALTER_PARTITION else CreateTopicsResponse()

    play(scene, lambda _: answered[0], good)


def test_a_controller_that_goes_away_is_asked_again_and_then_the_next() -> None:
    async def scene(scene: Scene) -> None:
        promise = scene.controller.controlled_shutdown()
        await asyncio.sleep(0.5)
        scene.network.kill("broker-2")
        await asyncio.sleep(1)
        assert not promise.done
        scene.show(3)
        await asyncio.sleep(0.1)
        assert promise.done

    play(scene, lambda _: Promise(), lambda _: ControlledShutdownResponse())


def test_a_controller_is_awaited() -> None:
    async def scene(scene: Scene) -> None:
        scene.show(-1)
        promise = scene.controller.controlled_shutdown()
        await asyncio.sleep(5)
        assert not promise.done
        scene.show(2)
        await asyncio.sleep(0.05)
        assert promise.done

    play(scene, lambda _: ControlledShutdownResponse())


def test_the_time_of_a_request_ends() -> None:
    async def scene(scene: Scene) -> None:
        outcomes = [await outcome_of(scene.controller.controlled_shutdown())]
        assert 2 <= scene.loop.time() < 2.2
        scene.listeners[2].close()
        outcomes.append(await outcome_of(scene.controller.controlled_shutdown()))
        scene.show(-1)
        outcomes.append(await outcome_of(scene.controller.controlled_shutdown()))
        assert outcomes == [PeerFault.NO_ANSWER, PeerFault.REFUSED, PeerFault.UNKNOWN]

    play(scene, lambda _: Promise(), request_timeout_ms="2000")


def test_a_controller_that_does_not_know_the_request_is_not_asked_again() -> None:
    async def scene(scene: Scene) -> None:
        assert await outcome_of(scene.controller.propose(proposal(ONE))) is PeerFault.UNSUPPORTED

    play(scene, lambda _: CLOSE, served=API)


def test_nothing_is_asked_after_the_end() -> None:
    async def scene(scene: Scene) -> None:
        scene.show(-1)
        waiting = scene.controller.controlled_shutdown()
        scene.controller.close()
        later = scene.controller.controlled_shutdown()
        assert [await outcome_of(promise) for promise in (waiting, later)] == [PeerFault.ABANDONED] * 2
        scene.show(2)
        await asyncio.sleep(1)
        assert not scene.asked(2)

    play(scene, lambda _: ControlledShutdownResponse())
