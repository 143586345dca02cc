"""Terms of office that come and go: elections, resignations, sessions that are cut off and end."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Self

import pytest

from kcompat.cluster import znodes
from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.controller import controllership, loading
from kcompat.controller.controller import Controller
from kcompat.controller.controller_election import RETRY_MS, ControllerElection
from kcompat.controller.creation import CreateTopics
from kcompat.controller.values import TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, Delete, SetData
from kcompat.store.process_store import ProcessStore
from support.controlled_brokers import FakeBroker, register
from support.controllers import answer
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from kcompat.controller.state import RegisteredBroker
    from kcompat.store.process_session import ProcessSession


class Candidate:
    """One broker with a candidacy, and what every controller reaches it by."""

    session: ProcessSession
    controller_election: ControllerElection

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.broker = FakeBroker()


class Candidates:
    """Brokers 1 to `count` of one cluster, none of which stands for election yet."""

    def __init__(self, count: int) -> None:
        self.all = {broker_id: Candidate(broker_id) for broker_id in range(1, count + 1)}
        self.clock = VirtualClock()
        self.config = ConfigFeed(BrokerConfig({}))

    async def __aenter__(self) -> Self:
        self.store = ProcessStore.in_memory(self.clock.now_ms)
        await loading.prepare(await self.store.session())
        for one in self.all.values():
            one.session = await self.store.session()
            await register(one.session, one.broker_id)
            cluster = one.broker.cluster
            controller = Controller(
                one.broker_id, one.session, self._port_of, self.clock, self.config, cluster
            )
            one.controller_election = ControllerElection(one.broker_id, one.session, controller, self.clock)
        return self

    async def __aexit__(self, *_: object) -> None:
        for one in self.all.values():
            await one.controller_election.stop()
        await self.store.close()

    def _port_of(self, broker: RegisteredBroker) -> FakeBroker:
        return self.all[broker.info.id].broker

    async def start(self) -> None:
        for one in self.all.values():
            await one.controller_election.start()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not is_so():
                await self.others_run()

    async def others_run(self, steps: int = 1) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)

    def known(self) -> list[int | None]:
        """Return the controller's id as each broker knows it."""
        return [one.controller_election.controller_id for one in self.all.values()]

    async def epoch(self) -> int:
        data, _ = await (await self.store.session()).get(znodes.CONTROLLER_EPOCH)
        return int(data)

    async def create(self, at: int, name: str, random: Random) -> ErrorCode:
        event = CreateTopics([TopicSpec(name, 1, 1)], False, self.config.current, random)
        (result,) = await answer(self.all[at].controller_election.submit(event))
        return result.error


async def test_one_of_them_is_elected_and_all_know_it() -> None:
    async with Candidates(3) as fixture:
        await fixture.start()
        assert fixture.known() == [1, 1, 1]
        assert [one.controller_election.is_here for one in fixture.all.values()] == [True, False, False]
        await fixture.until(lambda: all(one.broker.image.controller_id == 1 for one in fixture.all.values()))
        assert sorted(fixture.all[3].broker.image.brokers) == [1, 2, 3]


async def test_only_the_controller_decides(random: Random) -> None:
    async with Candidates(2) as fixture:
        await fixture.start()
        assert await fixture.create(2, "t", random) is ErrorCode.NOT_CONTROLLER
        assert await fixture.create(1, "t", random) is ErrorCode.NONE


async def test_another_is_elected_when_the_session_of_the_controller_ends(random: Random) -> None:
    async with Candidates(2) as fixture:
        await fixture.start()
        assert await fixture.create(1, "t", random) is ErrorCode.NONE
        await fixture.all[1].session.expire()
        assert not fixture.all[1].controller_election.is_here
        assert await fixture.create(1, "u", random) is ErrorCode.NOT_CONTROLLER
        await fixture.until(lambda: fixture.known() == [None, 2])
        assert await fixture.epoch() == 2
        await fixture.until(lambda: list(fixture.all[2].broker.image.brokers) == [2])
        assert await fixture.create(2, "u", random) is ErrorCode.NONE


async def test_a_broker_whose_session_is_renewed_finds_the_controller_elsewhere_and_may_be_it_again() -> None:
    async with Candidates(2) as fixture:
        await fixture.start()
        first, second = fixture.all.values()
        await first.session.expire()
        await fixture.until(lambda: second.controller_election.is_here)
        await first.session.renew()
        await register(first.session, 1)
        await fixture.until(lambda: fixture.known() == [2, 2])
        await second.session.close()
        await fixture.until(lambda: first.controller_election.is_here)
        assert await fixture.epoch() == 3
        data, _ = await first.session.get(znodes.CONTROLLER)
        assert json.loads(data)["brokerid"] == 1


async def test_a_controller_that_is_cut_off_resigns_at_once_and_takes_office_again(random: Random) -> None:
    async with Candidates(2) as fixture:
        await fixture.start()
        first = fixture.all[1]
        first.session.suspend()
        assert not first.controller_election.is_here
        assert await fixture.create(1, "t", random) is ErrorCode.NOT_CONTROLLER
        first.session.resume()
        await fixture.until(lambda: first.controller_election.is_here)
        assert await fixture.epoch() == 2
        assert await fixture.create(1, "t", random) is ErrorCode.NONE


async def test_the_office_of_a_former_process_is_given_up_before_its_session_ends() -> None:
    """All brokers were killed and start at once: nobody sees a port that refuses."""
    async with Candidates(2) as fixture:
        killed = await fixture.store.session()
        await controllership.elect(killed, 2, 0)
        await fixture.all[1].controller_election.start()
        assert fixture.known() == [2, None]
        await fixture.all[2].controller_election.start()
        await fixture.until(lambda: fixture.known() in ([1, 1], [2, 2]))
        assert await fixture.epoch() == 2
        assert fixture.all[1].controller_election.is_here is not fixture.all[2].controller_election.is_here


async def test_a_controller_that_another_has_replaced_resigns(random: Random) -> None:
    async with Candidates(1) as fixture:
        await fixture.start()
        other = await fixture.store.session()
        data, stat = await other.get(znodes.CONTROLLER_EPOCH)
        await other.multi(
            [
                Delete(znodes.CONTROLLER),
                Create(znodes.CONTROLLER, znodes.encode_controller(9, 0), ephemeral=True),
                SetData(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(int(data) + 1), stat.version),
            ]
        )
        await fixture.until(lambda: fixture.known() == [9])
        assert not fixture.all[1].controller_election.is_here
        assert await fixture.create(1, "t", random) is ErrorCode.NOT_CONTROLLER
        await other.close()
        await fixture.until(lambda: fixture.all[1].controller_election.is_here)


async def test_a_cluster_that_cannot_be_read_has_no_controller_until_it_can() -> None:
    async with Candidates(1) as fixture:
        session = await fixture.store.session()
        await session.create("/brokers/topics/t", b"{}")
        with pytest.raises(DamagedZnodeError):
            await fixture.start()
        assert not fixture.all[1].controller_election.is_here
        assert await controllership.current_controller(session) is None


async def test_after_a_failure_it_is_tried_again() -> None:
    async with Candidates(2) as fixture:
        await fixture.start()
        first, second = fixture.all.values()
        session = await fixture.store.session()
        await session.create("/config/topics/t", b"{}")
        await first.session.expire()
        await fixture.others_run(100)
        assert not second.controller_election.is_here
        assert second.controller_election.controller_id is None
        await session.delete("/config/topics/t")
        fixture.clock.advance(RETRY_MS)
        await fixture.until(lambda: second.controller_election.is_here)
