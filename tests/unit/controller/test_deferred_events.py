"""Tests of events whose decision the store refused: the controller decides them again once the store takes
writes, and keeps all changes made in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.control_requests import UpdateConfigs
from kcompat.controller.deferred_events import PAUSE_MS, DeferredEvents
from kcompat.controller.isr_changes import AlterPartition, ProposedIsr
from kcompat.controller.offline_replicas import ReplicasFailed
from kcompat.controller.values import TopicOutcome, TopicSpec
from kcompat.protocol.errors import ErrorCode
from support.controllers import ControllerFixture, answer
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def test_everything_is_tried_again_in_order_after_the_pause() -> None:
    clock, tried = VirtualClock(), list[str]()
    put_off = DeferredEvents(clock, tried.append)
    put_off.put("a")
    clock.advance(PAUSE_MS - 1)
    put_off.put("b")
    assert tried == []
    clock.advance(1)
    assert tried == ["a", "b"]
    clock.advance(PAUSE_MS)
    assert tried == ["a", "b"]


def test_what_fails_again_waits_again() -> None:
    clock, tried = VirtualClock(), list[str]()

    def again(what: str) -> None:
        tried.append(what)
        if len(tried) < 3:
            put_off.put(what)

    put_off = DeferredEvents(clock, again)
    put_off.put("a")
    put_off.retry()
    assert tried == ["a"]
    clock.advance(PAUSE_MS)
    assert tried == ["a", "a"]
    clock.advance(PAUSE_MS)
    assert tried == ["a", "a", "a"]


def test_what_is_forgotten_is_not_tried() -> None:
    clock, tried = VirtualClock(), list[str]()
    put_off = DeferredEvents(clock, tried.append)
    put_off.put("a")
    put_off.clear()
    clock.advance(PAUSE_MS)
    put_off.retry()
    assert tried == []


async def refuse_the_removal(fixture: ControllerFixture) -> None:
    """Delete topic t with a store that can take the mark, and no more."""
    await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
    fixture.broker.held = []
    deletion = fixture.decisions.delete_topics(["t"])
    await answer(fixture.decisions.allocate_producer_ids())
    fixture.disk.full = True
    fixture.broker.release()
    assert await answer(deletion) == {"t": TopicOutcome(ErrorCode.KAFKA_STORAGE_ERROR)}
    assert fixture.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]


async def test_a_deletion_ends_once_there_is_space_again(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await refuse_the_removal(fixture)
        fixture.clock.advance(PAUSE_MS)
        for _ in range(10):
            await fixture.others_run()
        assert fixture.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"], "there is none yet"
        fixture.disk.full = False
        fixture.clock.advance(PAUSE_MS)
        await fixture.until(lambda: not fixture.paths("/admin/delete_topics/"))
        assert not fixture.paths("/brokers/topics/t")


async def test_who_asks_then_finds_it_done(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await refuse_the_removal(fixture)
        (refused,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert refused.message == "Topic 't' is marked for deletion."
        fixture.disk.full = False
        (created,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NONE
        fixture.clock.advance(PAUSE_MS)
        await answer(fixture.decisions.allocate_producer_ids())
        assert fixture.paths("/brokers/topics/t")[:1] == ["/brokers/topics/t"]


async def test_it_is_tried_no_more_when_the_term_is_over(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await refuse_the_removal(fixture)
        fixture.disk.full = False
        fixture.controller.resign()
        fixture.clock.advance(PAUSE_MS)
        for _ in range(10):
            await fixture.others_run()
        assert fixture.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]


async def test_replicas_that_are_lost_with_their_disk_lead_no_more_once_that_can_be_written(
    path: Path,
) -> None:
    async with ControllerFixture(path, {}, 2) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", assignments=[(0, [1, 2])])]))
        fixture.disk.full = True
        fixture.controller_election.report(ReplicasFailed(1, frozenset({("t", 0)})))
        for _ in range(10):
            await fixture.others_run()
        fixture.disk.full = False
        fixture.clock.advance(PAUSE_MS)
        await fixture.until(lambda: fixture.broker.image.topics["t"].partitions[0].leader == 2)


async def test_the_store_is_looked_at_again(path: Path) -> None:
    """A broker that has gone is done without as soon as that can be written."""
    async with ControllerFixture(path, {}, 2) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", assignments=[(0, [2, 1])])]))
        await fixture.sessions[2].close()
        fixture.disk.full = True  # before the controller has decided on it
        for _ in range(20):
            await fixture.others_run()
        assert (await fixture.loaded()).topics["t"].partitions[0].leader == 2
        fixture.disk.full = False
        fixture.clock.advance(PAUSE_MS)
        await fixture.until(lambda: fixture.broker.image.topics["t"].partitions[0].leader == 1)
        assert set(fixture.broker.image.brokers) == {1}


async def with_a_full_disk(fixture: ControllerFixture, gone: Mapping[int, int]) -> None:
    """Partition t-0 is led by broker 2. Tell the controller of processes, while it can write nothing down."""
    await answer(fixture.decisions.create_topics([TopicSpec("t", assignments=[(0, [2, 1])])]))
    fixture.disk.full = True
    fixture.controller_election.failures_detected(gone)
    for _ in range(10):
        await fixture.others_run()
    assert (await fixture.loaded()).topics["t"].partitions[0].leader == 2


async def test_a_broker_whose_process_has_ended_is_done_without_once_that_can_be_written(path: Path) -> None:
    async with ControllerFixture(path, {}, 2) as fixture:
        epoch = (await fixture.loaded()).brokers[2].epoch
        await with_a_full_disk(fixture, {2: epoch})
        fixture.disk.full = False
        fixture.clock.advance(PAUSE_MS)
        await fixture.until(lambda: fixture.broker.image.topics["t"].partitions[0].leader == 1)


async def test_one_that_is_there_after_all_by_then_goes_on(path: Path) -> None:
    async with ControllerFixture(path, {}, 2) as fixture:
        epoch = (await fixture.loaded()).brokers[2].epoch
        await with_a_full_disk(fixture, {2: epoch})
        fixture.controller_election.failures_detected({})
        fixture.disk.full = False
        await answer(fixture.decisions.allocate_producer_ids())
        fixture.clock.advance(PAUSE_MS)
        await answer(fixture.decisions.allocate_producer_ids())
        assert (await fixture.loaded()).topics["t"].partitions[0].leader == 2
        assert set(fixture.broker.image.brokers) == {1, 2}


async def test_configs_that_came_meanwhile_stay(path: Path) -> None:
    """Topic t has no leader: an unclean one may be elected, but not any more when that can be written."""
    async with ControllerFixture(path, {}, 2) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", assignments=[(0, [2, 1])])]))
        (partition,) = (await fixture.loaded()).topics["t"].partitions
        alone = ProposedIsr("t", 0, partition.leader_epoch, partition.partition_epoch, ((2, -1),))
        epoch = (await fixture.loaded()).brokers[2].epoch
        await answer(fixture.controller_election.submit(AlterPartition(2, epoch, [alone])))
        await fixture.sessions[2].close()
        await fixture.until(lambda: fixture.broker.image.topics["t"].partitions[0].leader == -1)
        key = ("topics", "t")
        fixture.disk.full = True
        fixture.broker.cluster.apply(UpdateConfigs({key: {"unclean.leader.election.enable": "true"}}))
        for _ in range(20):
            await fixture.others_run()
        fixture.broker.cluster.apply(UpdateConfigs({key: {"unclean.leader.election.enable": "false"}}))
        fixture.disk.full = False
        fixture.clock.advance(PAUSE_MS)
        await answer(fixture.decisions.allocate_producer_ids())
        assert (await fixture.loaded()).topics["t"].partitions[0].leader == -1
        fixture.broker.cluster.apply(UpdateConfigs({key: {"unclean.leader.election.enable": "true"}}))
        await fixture.until(lambda: fixture.broker.image.topics["t"].partitions[0].leader == 1)
