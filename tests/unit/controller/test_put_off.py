"""What the store refused to have written is decided once it can be, and undoes nothing that came since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.cluster.news import UpdateConfigs
from kcompat.controller.isr_changes import AlterPartition, ProposedIsr
from kcompat.controller.leadership import ReplicasFailed
from kcompat.controller.put_off import PAUSE_MS, PutOff
from kcompat.controller.values import Outcome, TopicSpec
from kcompat.protocol.errors import ErrorCode
from support.controller_world import ControllerWorld, answer
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def test_everything_is_tried_again_in_order_after_the_pause() -> None:
    clock, tried = VirtualClock(), list[str]()
    put_off = PutOff(clock, tried.append)
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

    put_off = PutOff(clock, again)
    put_off.put("a")
    put_off.retry()
    assert tried == ["a"]
    clock.advance(PAUSE_MS)
    assert tried == ["a", "a"]
    clock.advance(PAUSE_MS)
    assert tried == ["a", "a", "a"]


def test_what_is_forgotten_is_not_tried() -> None:
    clock, tried = VirtualClock(), list[str]()
    put_off = PutOff(clock, tried.append)
    put_off.put("a")
    put_off.clear()
    clock.advance(PAUSE_MS)
    put_off.retry()
    assert tried == []


async def refuse_the_removal(world: ControllerWorld) -> None:
    """Delete topic t with a store that can take the mark, and no more."""
    await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
    world.broker.held = []
    deletion = world.decisions.delete_topics(["t"])
    await answer(world.decisions.allocate_producer_ids())
    world.disk.full = True
    world.broker.release()
    assert await answer(deletion) == {"t": Outcome(ErrorCode.KAFKA_STORAGE_ERROR)}
    assert world.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]


async def test_a_deletion_ends_once_there_is_space_again(path: Path) -> None:
    async with ControllerWorld(path) as world:
        await refuse_the_removal(world)
        world.clock.advance(PAUSE_MS)
        for _ in range(10):
            await world.others_run()
        assert world.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"], "there is none yet"
        world.disk.full = False
        world.clock.advance(PAUSE_MS)
        await world.until(lambda: not world.paths("/admin/delete_topics/"))
        assert not world.paths("/brokers/topics/t")


async def test_who_asks_then_finds_it_done(path: Path) -> None:
    async with ControllerWorld(path) as world:
        await refuse_the_removal(world)
        (refused,) = await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert refused.message == "Topic 't' is marked for deletion."
        world.disk.full = False
        (created,) = await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NONE
        world.clock.advance(PAUSE_MS)
        await answer(world.decisions.allocate_producer_ids())
        assert world.paths("/brokers/topics/t")[:1] == ["/brokers/topics/t"]


async def test_it_is_tried_no_more_when_the_term_is_over(path: Path) -> None:
    async with ControllerWorld(path) as world:
        await refuse_the_removal(world)
        world.disk.full = False
        world.controller.resign()
        world.clock.advance(PAUSE_MS)
        for _ in range(10):
            await world.others_run()
        assert world.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]


async def test_replicas_that_are_lost_with_their_disk_lead_no_more_once_that_can_be_written(
    path: Path,
) -> None:
    async with ControllerWorld(path, {}, 2) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", assignments=[(0, [1, 2])])]))
        world.disk.full = True
        world.candidacy.report(ReplicasFailed(1, frozenset({("t", 0)})))
        for _ in range(10):
            await world.others_run()
        world.disk.full = False
        world.clock.advance(PAUSE_MS)
        await world.until(lambda: world.broker.image.topics["t"].partitions[0].leader == 2)


async def test_the_store_is_looked_at_again(path: Path) -> None:
    """A broker that has gone is done without as soon as that can be written."""
    async with ControllerWorld(path, {}, 2) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", assignments=[(0, [2, 1])])]))
        await world.sessions[2].close()
        world.disk.full = True  # before the controller has decided on it
        for _ in range(20):
            await world.others_run()
        assert (await world.loaded()).topics["t"].partitions[0].leader == 2
        world.disk.full = False
        world.clock.advance(PAUSE_MS)
        await world.until(lambda: world.broker.image.topics["t"].partitions[0].leader == 1)
        assert set(world.broker.image.brokers) == {1}


async def with_a_full_disk(world: ControllerWorld, gone: Mapping[int, int]) -> None:
    """Partition t-0 is led by broker 2. Tell the controller of processes, while it can write nothing down."""
    await answer(world.decisions.create_topics([TopicSpec("t", assignments=[(0, [2, 1])])]))
    world.disk.full = True
    world.candidacy.processes_seen(gone)
    for _ in range(10):
        await world.others_run()
    assert (await world.loaded()).topics["t"].partitions[0].leader == 2


async def test_a_broker_whose_process_has_ended_is_done_without_once_that_can_be_written(path: Path) -> None:
    async with ControllerWorld(path, {}, 2) as world:
        epoch = (await world.loaded()).brokers[2].epoch
        await with_a_full_disk(world, {2: epoch})
        world.disk.full = False
        world.clock.advance(PAUSE_MS)
        await world.until(lambda: world.broker.image.topics["t"].partitions[0].leader == 1)


async def test_one_that_is_there_after_all_by_then_goes_on(path: Path) -> None:
    async with ControllerWorld(path, {}, 2) as world:
        epoch = (await world.loaded()).brokers[2].epoch
        await with_a_full_disk(world, {2: epoch})
        world.candidacy.processes_seen({})
        world.disk.full = False
        await answer(world.decisions.allocate_producer_ids())
        world.clock.advance(PAUSE_MS)
        await answer(world.decisions.allocate_producer_ids())
        assert (await world.loaded()).topics["t"].partitions[0].leader == 2
        assert set(world.broker.image.brokers) == {1, 2}


async def test_configs_that_came_meanwhile_stay(path: Path) -> None:
    """Topic t has no leader: an unclean one may be elected, but not any more when that can be written."""
    async with ControllerWorld(path, {}, 2) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", assignments=[(0, [2, 1])])]))
        (partition,) = (await world.loaded()).topics["t"].partitions
        alone = ProposedIsr("t", 0, partition.leader_epoch, partition.partition_epoch, ((2, -1),))
        epoch = (await world.loaded()).brokers[2].epoch
        await answer(world.candidacy.submit(AlterPartition(2, epoch, [alone])))
        await world.sessions[2].close()
        await world.until(lambda: world.broker.image.topics["t"].partitions[0].leader == -1)
        key = ("topics", "t")
        world.disk.full = True
        world.broker.cluster.hear(UpdateConfigs({key: {"unclean.leader.election.enable": "true"}}))
        for _ in range(20):
            await world.others_run()
        world.broker.cluster.hear(UpdateConfigs({key: {"unclean.leader.election.enable": "false"}}))
        world.disk.full = False
        world.clock.advance(PAUSE_MS)
        await answer(world.decisions.allocate_producer_ids())
        assert (await world.loaded()).topics["t"].partitions[0].leader == -1
        world.broker.cluster.hear(UpdateConfigs({key: {"unclean.leader.election.enable": "true"}}))
        await world.until(lambda: world.broker.image.topics["t"].partitions[0].leader == 1)
