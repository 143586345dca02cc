"""Brokers whose processes have ended before their sessions have, and a controller that is one of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from kcompat.cluster import znodes
from kcompat.cluster.control_requests import LeaderAndIsr, UpdateMetadata
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.registration import Forgetful, Registration
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.controller import controllership, loading
from kcompat.controller.brokers import BrokersSeen, FailuresDetected
from kcompat.controller.controller import Controller
from kcompat.controller.controller_election import RETRY_MS, ControllerElection
from kcompat.controller.state import ControlledPartition, ControllerState, RegisteredBroker
from kcompat.protocol.errors import ErrorCode
from kcompat.store.process_store import ProcessStore
from support.controlled_brokers import FakeBroker, registration_of
from support.controllers import SmallDisk
from support.raw_peer import until
from support.virtual_clock import VirtualClock

from .conftest import broker, told, with_partitions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kcompat.controller.state import Decision, RegisteredBroker


def led_by_two(three: ControllerState) -> ControllerState:
    return with_partitions(three, ControlledPartition(2, 4, (2, 3), (2, 3), 9))


def dead(three: ControllerState) -> ControllerState:
    return FailuresDetected({2: 5}).decide(led_by_two(three)).state


def test_what_it_led_is_led_by_another_at_once(three: ControllerState) -> None:
    decision = FailuresDetected({2: 5}).decide(led_by_two(three))
    (partition,) = decision.state.topics["t"].partitions
    assert (partition.leader, partition.leader_epoch, partition.isr) == (3, 5, (3,))
    assert decision.state.brokers.keys() == {1, 3}
    assert decision.state.presumed_dead == {2: broker(2)}
    assert not told(decision, 2)
    assert any(isinstance(news, LeaderAndIsr) for news in told(decision, 3))


def test_only_the_process_that_is_meant_is_given_up(three: ControllerState) -> None:
    state = led_by_two(three)
    for gone in ({2: 4}, {7: 5}, {1: 5}, {}):
        decision = FailuresDetected(gone).decide(state)
        assert decision.state is state
        assert not decision.requests
        assert not decision.writes


def test_its_registration_says_nothing_any_more(three: ControllerState) -> None:
    state = dead(three)
    all_registered = {each: broker(each) for each in (1, 2, 3)}
    decision = BrokersSeen(all_registered).decide(state)
    assert decision.state == state
    assert not decision.requests


def listed(decision: Decision[None], broker_id: int) -> list[tuple[list[int], list[int]]]:
    """The brokers that each update tells a broker of: those that are live, and those presumed dead."""
    updates = [news for news in told(decision, broker_id) if isinstance(news, UpdateMetadata)]
    return [(list(news.brokers), list(news.presumed_dead)) for news in updates]


def test_clients_are_told_of_it_until_its_session_ends(three: ControllerState) -> None:
    decision = FailuresDetected({2: 5}).decide(led_by_two(three))
    assert listed(decision, 1) == listed(decision, 3) == [([1, 3], [2])] * 2
    decision = BrokersSeen({each: broker(each) for each in (1, 3)}).decide(decision.state)
    assert decision.state.presumed_dead == {}
    assert decision.state.brokers.keys() == {1, 3}
    assert listed(decision, 1) == listed(decision, 3) == [([1, 3], [])]
    assert not decision.writes


def test_a_broker_that_starts_is_told_of_it(three: ControllerState) -> None:
    seen = {each: broker(each) for each in (1, 2, 3, 4)}
    decision = BrokersSeen(seen).decide(dead(three))
    assert listed(decision, 4) == listed(decision, 1) == [([1, 3, 4], [2])]


def test_one_that_ends_its_session_itself_is_listed_no_more_at_once(three: ControllerState) -> None:
    decision = BrokersSeen({each: broker(each) for each in (1, 3)}).decide(led_by_two(three))
    assert listed(decision, 1) == [([1, 3], [])] * 2


def test_one_that_registers_anew_is_welcome(three: ControllerState) -> None:
    seen = {1: broker(1), 2: broker(2, epoch=6), 3: broker(3)}
    decision = BrokersSeen(seen).decide(dead(three))
    assert decision.state.presumed_dead == {}
    assert decision.state.brokers == seen
    assert told(decision, 2)
    assert listed(decision, 1) == [([1, 2, 3], [])]


def test_one_that_is_there_after_all_is_taken_back(three: ControllerState) -> None:
    decision = FailuresDetected({}).decide(dead(three))
    assert decision.state.presumed_dead == {}
    assert decision.state.brokers.keys() == {1, 2, 3}
    assert told(decision, 2)
    assert decision.state.topics["t"].partitions[0].leader == 3
    decision.state.check_invariants()


def test_another_that_is_dead_stays_so(three: ControllerState) -> None:
    state = FailuresDetected({2: 5, 3: 5}).decide(dead(three)).state
    assert state.presumed_dead.keys() == {2, 3}
    assert FailuresDetected({2: 5, 3: 5}).decide(state).state is state
    state = FailuresDetected({3: 5}).decide(state).state
    assert state.presumed_dead.keys() == {3}
    assert state.brokers.keys() == {1, 2}


def test_nobody_waits_for_an_answer() -> None:
    FailuresDetected({2: 5}).refused(ErrorCode.NOT_CONTROLLER)


class Scene:
    """Broker 2 is the controller, in a session that goes on; broker 1 stands for election too."""

    def __init__(self, path: Path) -> None:
        self.clock = VirtualClock()
        self.disk = SmallDisk(path)
        self.store = ProcessStore(self.disk, self.clock.now_ms)
        self.watched: list[Mapping[int, RegisteredBroker]] = []

    async def __aenter__(self) -> Self:
        self.other = await self.store.session()
        self.session = await self.store.session()
        await loading.prepare(self.session)
        for broker_id, session in ((1, self.session), (2, self.other)):
            registration = Registration(session, broker_id, Forgetful(), self.clock)
            await registration.start(registration_of(broker_id))
        self.two = (await loading.registered(self.session, [2]))[2]
        assert await controllership.elect(self.other, 2, 0) is not None
        fake = FakeBroker()
        controller = Controller(
            1,
            self.session,
            lambda _: fake,
            self.clock,
            ConfigFeed(BrokerConfig({})),
            MetadataCache("the-cluster"),
            self.watched.append,
        )
        self.controller_election = ControllerElection(
            1, self.session, controller, self.clock, self.watched.append
        )
        await self.controller_election.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.controller_election.stop()
        await self.store.close()


def presumed_dead(scene: Scene) -> Mapping[int, RegisteredBroker]:
    state = scene.controller_election._controller._state
    assert state is not None
    return state.presumed_dead


async def test_the_others_watch_over_the_controller_alone(path: Path) -> None:
    async with Scene(path) as scene:
        assert scene.controller_election.controller_id == 2
        assert scene.watched[-1] == {2: scene.two}
    assert scene.watched[-1] == {}


async def test_a_controller_whose_process_has_ended_is_deposed_and_its_roles_are_given_away(
    path: Path,
) -> None:
    async with Scene(path) as scene:
        scene.controller_election.failures_detected({2: scene.two.epoch})
        await until(lambda: scene.controller_election.controller_id == 1)
        assert scene.controller_election.is_here
        assert scene.watched[-1].keys() == {1, 2}
        scene.controller_election.failures_detected({2: scene.two.epoch})
        await until(lambda: presumed_dead(scene))
        assert scene.watched[-1].keys() == {1, 2}
        scene.controller_election.failures_detected({})
        await until(lambda: not presumed_dead(scene))
        epoch, _ = await loading.read(scene.session, znodes.CONTROLLER_EPOCH, znodes.decode_epoch)
        assert epoch == 2
    assert scene.watched[-1] == {}


async def test_a_controller_that_the_store_keeps_is_deposed_when_it_lets_go(path: Path) -> None:
    """Nobody tells of the process that has ended a second time."""
    async with Scene(path) as scene:
        scene.disk.full = True
        scene.controller_election.failures_detected({2: scene.two.epoch})
        for _ in range(50):
            await asyncio.sleep(0)
        assert scene.controller_election.controller_id == 2
        scene.disk.full = False
        scene.clock.advance(RETRY_MS)
        await until(lambda: scene.controller_election.controller_id == 1)


async def test_a_new_controller_has_everybody_looked_at_anew(path: Path) -> None:
    """A broker that failed before the term began has to be reported again."""
    async with Scene(path) as scene:
        scene.controller_election.failures_detected({2: scene.two.epoch})
        await until(lambda: scene.controller_election.controller_id == 1)
        watched = scene.watched[scene.watched.index({2: scene.two}) :]
        assert {} in watched[: [set(each) for each in watched].index({1, 2})]


async def test_a_broker_that_is_gone_at_once_watches_over_nobody(path: Path) -> None:
    async with Scene(path) as scene:
        scene.controller_election.abandon()
        assert scene.watched[-1] == {}


async def test_another_process_than_the_controllers_deposes_nobody(path: Path) -> None:
    async with Scene(path) as scene:
        for gone in ({2: scene.two.epoch - 1}, {3: scene.two.epoch}):
            scene.controller_election.failures_detected(gone)
            for _ in range(50):
                await asyncio.sleep(0)
            assert scene.controller_election.controller_id == 2


async def test_who_is_the_controller_no_more_is_not_deposed_in_anothers_place(path: Path) -> None:
    async with Scene(path) as scene:
        await controllership.depose(scene.session, 3)
        found = await controllership.current_controller(scene.session)
        assert found is not None
        assert found.broker_id == 2
