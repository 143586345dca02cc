"""The client to another broker, on a network in memory and on virtual time."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from kcompat.net.answers import CLOSE, Mode, Waiting
from kcompat.peer.client import PeerSettings
from kcompat.peer.errors import PeerError, PeerFault
from kcompat.peer.releases import release
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse
from support.client_scene import THERE, Scene, play
from support.outcomes import answer_to, outcome_of
from support.raw_peer import framed
from support.scripted_broker import Asked, ScriptedBroker

if TYPE_CHECKING:
    from kcompat.net.answers import Answer, Connection


def no_answer(_asked: Asked) -> object:
    raise AssertionError("every frame is answered without it")


def test_a_request_is_answered_in_the_newest_version_both_have() -> None:
    async def scene(scene: Scene) -> None:
        assert await scene.beat() == 7
        assert await scene.beat() == 7
        assert [(asked.version, asked.client_id) for asked in scene.broker.asked] == [(4, "broker-1")] * 2
        assert scene.broker.versions_asked == [3]
        assert scene.attempts() == 1

    play(scene)


def test_many_are_in_flight_and_answered_in_their_order() -> None:
    first = Promise[HeartbeatResponse]()

    def answer(asked: Asked) -> object:
        return first if asked.request.group_id == "0" else HeartbeatResponse()

    async def scene(scene: Scene) -> None:
        answered: list[int] = []

        def record(number: int, _response: object) -> None:
            answered.append(number)

        for number in range(5):
            scene.client.call(HeartbeatRequest(str(number)), 10_000).then(partial(record, number))
        await asyncio.sleep(1)
        assert len(scene.broker.asked) == 5
        assert not answered
        first.complete(HeartbeatResponse())
        await asyncio.sleep(1)
        assert answered == [0, 1, 2, 3, 4]

    play(scene, answer)


@pytest.mark.parametrize(
    ("ranges", "version"),
    [(range(3), 2), (range(1, 5), 4), (range(99), 4), (range(5, 9), None), (None, None)],
)
def test_the_peer_says_which_versions_it_serves(ranges: range | None, version: int | None) -> None:
    served = {ApiKey.API_VERSIONS: range(5)}
    if ranges is not None:
        served[ApiKey.HEARTBEAT] = ranges

    async def scene(scene: Scene) -> None:
        outcome = await scene.beat()
        if version is None:
            assert outcome is PeerFault.UNSUPPORTED
            assert not scene.broker.asked
        else:
            assert scene.broker.asked[0].version == version

    play(scene, served=served)


@pytest.mark.parametrize(("known", "asked"), [(range(5), [3]), (range(3), [3, 2]), (range(1), [3, 0])])
def test_an_old_broker_is_asked_for_its_versions_in_its_own(known: range, asked: list[int]) -> None:
    async def scene(scene: Scene) -> None:
        assert await scene.beat() == 7
        assert scene.broker.versions_asked == asked

    play(scene, served={ApiKey.API_VERSIONS: known, ApiKey.HEARTBEAT: range(5)})


def test_no_newer_version_than_the_release_among_brokers_is_sent() -> None:
    async def scene(scene: Scene) -> None:
        made: list[int] = []

        def make(version: int) -> FetchRequest:
            made.append(version)
            return FetchRequest()

        await outcome_of(scene.client.ask(ApiKey.FETCH, make, 1000))
        assert made == [scene.broker.asked[0].version] == [11]

    settings = PeerSettings(release("2.6"), 1000, 4000, 2**20)
    play(scene, lambda _: FetchResponse(), settings=settings)


def test_a_request_that_cannot_be_made_fails_alone() -> None:
    async def scene(scene: Scene) -> None:
        def make(_version: int) -> HeartbeatRequest:
            return HeartbeatRequest(generation_id="x")  # type: ignore[arg-type]

        wrong = scene.client.ask(ApiKey.HEARTBEAT, make, 1000)
        right = scene.client.call(HeartbeatRequest(), 1000)
        failures: list[Exception] = []
        wrong.then(lambda _: None, failures.append)
        assert (await answer_to(right)).error_code == 7
        assert [type(failure) for failure in failures] == [ValueError]

    play(scene)


def test_nobody_there_is_told_apart_from_a_silent_host() -> None:
    async def scene(scene: Scene) -> None:
        scene.stop_listening()
        assert await scene.beat() is PeerFault.REFUSED
        assert PeerFault.REFUSED.shows_death
        scene.listen()
        scene.network.isolate("there", ["here"])
        assert await scene.beat(100) is PeerFault.TIMED_OUT
        assert await scene.beat(5000) is PeerFault.TIMED_OUT
        scene.address = None
        scene.client.disconnect()
        assert await scene.beat() is PeerFault.UNKNOWN

    play(scene)


def test_attempts_come_after_50_ms_and_twice_as_long_each_time_up_to_a_second() -> None:
    async def scene(scene: Scene) -> None:
        scene.stop_listening()
        began: list[float] = []
        while scene.loop.time() < 10:
            began.append(scene.loop.time())
            assert await scene.beat() is PeerFault.REFUSED
        waits = [later - earlier for earlier, later in pairwise(began[1:])]
        expected = [50, 100, 200, 400, 800] + [1000] * (len(waits) - 5)
        assert len(waits) > 8
        for wait, usual in zip(waits, expected, strict=True):
            assert usual * 0.8 / 1000 <= wait <= usual * 1.2 / 1000 + 0.02

    play(scene)


def test_a_connection_that_served_is_made_again_at_once() -> None:
    async def scene(scene: Scene) -> None:
        await scene.beat()
        for _ in range(3):
            scene.stop_listening()
            scene.listen()
            await asyncio.sleep(0.02)
            began = scene.loop.time()
            assert await scene.beat() == 7
            assert scene.loop.time() - began < 0.04
        assert scene.attempts() == 4

    play(scene)


def test_a_connection_that_never_answers_is_not_made_again_at_once() -> None:
    async def scene(scene: Scene) -> None:
        for _ in range(6):
            assert await scene.beat() is PeerFault.CLOSED
        assert scene.attempts() == 6
        assert scene.loop.time() > (50 + 100 + 200 + 400 + 800) * 0.8 / 1000

    play(scene, lambda _: CLOSE)


@pytest.mark.parametrize(("end", "fault"), [("stop", PeerFault.CLOSED), ("kill", PeerFault.RESET)])
def test_those_in_flight_fail_when_the_connection_ends(end: str, fault: PeerFault) -> None:
    async def scene(scene: Scene) -> None:
        promises = [scene.client.call(HeartbeatRequest(), 10_000) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert len(scene.broker.asked) == 3
        if end == "stop":
            scene.hub.stop()
        else:
            scene.network.kill("there")
        assert [await outcome_of(promise) for promise in promises] == [fault] * 3

    play(scene, lambda _: Promise())


def test_a_request_that_is_not_answered_in_time_takes_its_connection_with_it() -> None:
    async def scene(scene: Scene) -> None:
        slow = scene.client.call(HeartbeatRequest("slow"), 500)
        behind = scene.client.call(HeartbeatRequest("behind"), 10_000)
        assert await outcome_of(slow) is PeerFault.NO_ANSWER
        assert await outcome_of(behind) is PeerFault.NO_ANSWER
        assert 0.5 <= scene.loop.time() < 0.6
        await asyncio.sleep(0.1)
        assert not scene.hub.connections
        assert await scene.beat() == 0

    play(scene, lambda asked: Promise() if asked.request.group_id == "slow" else HeartbeatResponse())


@pytest.mark.parametrize(
    "answer",
    [b"\0\0\0\x63\0\0", b"\0\0", b"\0\0\0\x01\0\0\0\0", b"\0\0\0\x01\0\0" + b"\xff" * 20, b"x" * 2**21],
)
def test_an_answer_that_cannot_be_read_ends_the_connection(
    answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    class Liar(ScriptedBroker):
        def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
            return [framed(answer)]

    async def scene(scene: Scene) -> None:
        scene.stop_listening()
        scene.broker = Liar(no_answer)
        scene.listen()
        assert await scene.beat() is PeerFault.GARBLED
        await asyncio.sleep(0.1)
        assert not scene.hub.connections

    play(scene)
    assert not any(record.levelname == "ERROR" for record in caplog.records)


def test_records_are_views_that_stay_as_they_are() -> None:
    def answer(asked: Asked) -> FetchResponse:
        size = asked.request.max_wait_ms
        row = FetchResponse.PartitionData(0, records=bytes([size % 256]) * size)
        return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(partitions=[row])])

    async def scene(scene: Scene) -> None:
        kept: list[tuple[int, object]] = []
        for size in (100_000, 5, 90_000, 100_001):
            response: FetchResponse = await answer_to(
                scene.client.call(FetchRequest(max_wait_ms=size), 10_000)
            )
            kept.append((size, response.responses[0].partitions[0].records))
        for size, records in kept:
            assert isinstance(records, memoryview)
            assert records == bytes([size % 256]) * size

    play(scene, answer)


def test_a_peer_that_accepts_and_does_not_say_what_it_serves_is_given_up() -> None:
    class Stopped(ScriptedBroker):
        def on_frame(self, connection: Connection, frame: memoryview) -> Answer:
            return Waiting(Promise(), Mode.PIPELINED)

    async def scene(scene: Scene) -> None:
        scene.stop_listening()
        scripted, scene.broker = scene.broker, Stopped(no_answer)
        scene.listen()
        assert await scene.beat(60_000) is PeerFault.NO_ANSWER
        assert 1.5 < scene.loop.time() < 2.5
        await asyncio.sleep(0.1)
        assert not scene.hub.connections
        scene.stop_listening()
        scene.broker = scripted
        scene.listen()
        assert await scene.beat() == 7

    play(scene)


def test_closing_ends_everything() -> None:
    async def scene(scene: Scene) -> None:
        await scene.beat()
        in_flight = scene.client.call(MetadataRequest(), 10_000)
        await asyncio.sleep(0.1)
        scene.client.close()
        scene.client.close()
        assert in_flight.done
        assert await outcome_of(in_flight) is PeerFault.ABANDONED
        assert await scene.beat() is PeerFault.ABANDONED
        await asyncio.sleep(0.1)
        assert not scene.hub.connections

    play(scene, lambda asked: Promise() if asked.key == ApiKey.METADATA else HeartbeatResponse())


def test_closing_before_there_is_a_connection() -> None:
    async def scene(scene: Scene) -> None:
        waiting = scene.client.call(MetadataRequest(), 10_000)
        scene.client.close()
        assert await outcome_of(waiting) is PeerFault.ABANDONED
        await asyncio.sleep(1)
        assert not scene.attempts()

    play(scene)


def test_after_a_disconnect_the_next_connection_goes_to_the_new_address() -> None:
    async def scene(scene: Scene) -> None:
        await scene.beat()
        scene.address = ("there", 1)
        scene.client.disconnect()
        assert await scene.beat() is PeerFault.REFUSED
        scene.address = THERE
        scene.client.disconnect()
        assert await scene.beat() == 7

    play(scene)


def test_whoever_closes_the_client_when_told_harms_nothing() -> None:
    async def scene(scene: Scene) -> None:
        promises = [scene.client.call(HeartbeatRequest(), 10_000) for _ in range(3)]
        faults: list[PeerFault] = []

        def failed(error: Exception) -> None:
            assert isinstance(error, PeerError)
            faults.append(error.fault)

        for promise in promises:
            promise.then(lambda _: scene.client.close(), failed)
        await asyncio.sleep(1)
        assert faults == [PeerFault.ABANDONED] * 2

    play(scene)


def test_one_who_stays_connected_hears_at_once_that_the_process_is_gone() -> None:
    async def scene(scene: Scene) -> None:
        lost: list[tuple[PeerFault, float]] = []
        scene.client.stay_connected(lambda fault: lost.append((fault, scene.loop.time())))
        await asyncio.sleep(5)
        assert scene.attempts() == 1
        assert not lost
        scene.network.kill("there")
        await asyncio.sleep(0.1)
        assert lost[0][0] is PeerFault.RESET
        assert lost[1][0] is PeerFault.REFUSED
        assert lost[1][1] < 5.1
        count = len(lost)
        scene.listen()
        await asyncio.sleep(2)
        assert scene.attempts() == 2
        assert len(lost) <= count + 2
        scene.client.close()
        scene.stop_listening()
        await asyncio.sleep(5)
        assert scene.attempts() == 2

    play(scene)


def test_a_metadata_request_travels_whole() -> None:
    async def scene(scene: Scene) -> None:
        topic = MetadataRequest.MetadataRequestTopic(name="wanted")
        response: MetadataResponse = await answer_to(scene.client.call(MetadataRequest(topics=[topic]), 1000))
        assert response.cluster_id == "the-cluster"
        assert scene.broker.asked[0].request.topics[0].name == "wanted"

    play(scene, lambda _: MetadataResponse(cluster_id="the-cluster"))
