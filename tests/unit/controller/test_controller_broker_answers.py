"""Tests of the controller with brokers that answer late, wrongly or not at all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.control_requests import LeaderAndIsr, StopReplica, UpdateConfigs, UpdateMetadata
from kcompat.cluster.znodes import ProducerIdBlock, broker_path, encode_broker
from kcompat.controller.isr_changes import AlterPartition, ProposedIsr
from kcompat.controller.values import TopicOutcome, TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, Delete
from support.controlled_brokers import registration_of
from support.controllers import ControllerFixture, answer

if TYPE_CHECKING:
    from pathlib import Path


async def test_an_event_is_answered_when_the_broker_has_answered_and_others_go_on_meanwhile(
    path: Path,
) -> None:
    async with ControllerFixture(path) as fixture:
        fixture.broker.held = []
        creation = fixture.decisions.create_topics([TopicSpec("t", 1, 1)])
        assert await answer(fixture.decisions.allocate_producer_ids()) == ProducerIdBlock(1, 0, 999)
        assert "/brokers/topics/t" in fixture.paths("/")
        assert not creation.done
        assert "t" not in fixture.broker.image.topics
        fixture.broker.release()
        assert (await answer(creation))[0].error is ErrorCode.NONE
        assert "t" in fixture.broker.image.topics


async def test_a_deletion_ends_with_the_brokers_answer(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        fixture.broker.held = []
        deletion = fixture.decisions.delete_topics(["t"])
        again = fixture.decisions.create_topics([TopicSpec("t", 1, 1)])
        assert (await answer(again))[0].message == "Topic 't' is marked for deletion."
        assert not deletion.done
        assert fixture.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]
        fixture.broker.release()
        assert await answer(deletion) == {"t": TopicOutcome()}
        assert fixture.paths("/admin/delete_topics/") == []


async def test_an_answer_goes_before_what_is_asked_next(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        deletion = fixture.decisions.delete_topics(["t"])
        creation = fixture.decisions.create_topics([TopicSpec("t", 2, 1)])
        assert (await answer(creation))[0].error is ErrorCode.NONE
        assert deletion.value == {"t": TopicOutcome()}


async def test_who_waits_for_a_broker_that_never_answers_is_told_at_the_stop(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        fixture.broker.held = []
        creation = fixture.decisions.create_topics([TopicSpec("t", 1, 1)])
        await answer(fixture.decisions.allocate_producer_ids())
        await fixture.controller.stop()
        assert creation.value[0].error is ErrorCode.REQUEST_TIMED_OUT
        fixture.broker.release()  # too late: nothing follows from it
        assert fixture.broker.image.topics == {}


async def test_an_answer_that_comes_after_a_resignation_is_nobodys(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        fixture.broker.held = []
        deletion = fixture.decisions.delete_topics(["t"])
        await answer(fixture.decisions.allocate_producer_ids())
        other = await fixture.store.session()
        await other.set("/controller_epoch", b"9")
        (created,) = await answer(fixture.decisions.create_topics([TopicSpec("u", 1, 1)]))
        assert created.error is ErrorCode.NOT_CONTROLLER
        assert deletion.value == {"t": TopicOutcome(ErrorCode.REQUEST_TIMED_OUT)}
        before = fixture.paths("/")
        fixture.broker.release()
        await asyncio.sleep(0)
        assert fixture.paths("/") == before
        assert fixture.broker.deleted == []


@pytest.mark.parametrize("kind", [LeaderAndIsr, UpdateMetadata, UpdateConfigs])
async def test_a_broker_that_raises_harms_only_what_it_was_told(path: Path, kind: type) -> None:
    async with ControllerFixture(path) as fixture:
        fixture.broker.bugs[kind] = ZeroDivisionError("a bug")
        (created,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 2, 1)]))
        assert created.error is ErrorCode.NONE
        leaders = [part.leader for part in (await fixture.loaded()).topics["t"].partitions]
        assert leaders == ([-1, -1] if kind is LeaderAndIsr else [1, 1])
        fixture.broker.bugs.clear()
        (created,) = await answer(fixture.decisions.create_topics([TopicSpec("u", 1, 1)]))
        assert created.error is ErrorCode.NONE
        assert fixture.broker.image.topics["u"].partitions[0].leader == 1


async def test_a_topic_whose_broker_raises_on_deletion_stays_marked(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        fixture.broker.bugs[StopReplica] = ZeroDivisionError("a bug")
        outcomes = await answer(fixture.decisions.delete_topics(["t"]))
        assert outcomes == {"t": TopicOutcome(ErrorCode.REQUEST_TIMED_OUT)}
        assert fixture.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]


async def test_nobody_waits_for_a_silent_broker_elsewhere(path: Path) -> None:
    async with ControllerFixture(path, {}, 2) as fixture:
        silent = fixture.others[2]
        silent.held = []
        spec = TopicSpec("t", assignments=[(0, [2, 1])])
        (created,) = await answer(fixture.decisions.create_topics([spec]))
        assert created.error is ErrorCode.NONE
        assert fixture.broker.image.topics["t"].partitions[0].leader == 2
        assert await answer(fixture.decisions.delete_topics(["t"])) == {"t": TopicOutcome()}
        assert fixture.broker.deleted == [("t", 0)]
        assert fixture.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]
        silent.release()
        await answer(fixture.decisions.allocate_producer_ids())
        assert silent.deleted == [("t", 0)]
        assert fixture.paths("/admin/delete_topics/") == []
        assert silent.image.topics == fixture.broker.image.topics == {}


async def test_a_broker_elsewhere_that_fails_hands_its_leaderships_on(path: Path) -> None:
    async with ControllerFixture(path, {}, 2) as fixture:
        fixture.others[2].bugs[LeaderAndIsr] = ZeroDivisionError("a bug")
        spec = TopicSpec("t", assignments=[(0, [2, 1]), (1, [1, 2])])
        (created,) = await answer(fixture.decisions.create_topics([spec]))
        assert created.error is ErrorCode.NONE
        await answer(fixture.decisions.allocate_producer_ids())
        assert [part.leader for part in (await fixture.loaded()).topics["t"].partitions] == [1, 1]
        assert [part.isr for part in (await fixture.loaded()).topics["t"].partitions] == [(1,), (1,)]


async def test_what_a_broker_could_not_do_is_forgotten_once_it_has_registered_anew(path: Path) -> None:
    async with ControllerFixture(path, {}, 2) as fixture:
        fixture.others[2].held = []
        fixture.others[2].broken = {("t", 0)}
        spec = TopicSpec("t", assignments=[(0, [2, 1])])
        (created,) = await answer(fixture.decisions.create_topics([spec]))
        assert created.error is ErrorCode.NONE
        session = await fixture.store.session()
        await session.multi(
            [
                Delete(broker_path(2)),
                Create(broker_path(2), encode_broker(registration_of(2), 0), ephemeral=True),
            ]
        )
        fixture.others[2].release()  # the answer is there before the controller has seen that
        fixture.others[2].broken.clear()
        await answer(fixture.decisions.allocate_producer_ids())
        (partition,) = (await fixture.loaded()).topics["t"].partitions
        assert partition.isr == (1,)
        both = ProposedIsr("t", 0, partition.leader_epoch, partition.partition_epoch, ((1, -1), (2, -1)))
        epoch = (await fixture.loaded()).brokers[1].epoch
        answers = await answer(fixture.controller_election.submit(AlterPartition(1, epoch, [both])))
        assert [row.error for row in answers.rows] == [ErrorCode.NONE]


async def test_a_store_that_fails_between_the_steps_of_a_deletion(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        fixture.broker.held = []
        deletion = fixture.decisions.delete_topics(["t"])
        await answer(fixture.decisions.allocate_producer_ids())
        fixture.disk.full = True
        fixture.broker.release()
        assert await answer(deletion) == {"t": TopicOutcome(ErrorCode.KAFKA_STORAGE_ERROR)}
        fixture.disk.full = False
        assert fixture.paths("/admin/delete_topics/") == ["/admin/delete_topics/t"]
    async with ControllerFixture(path) as fixture:
        assert fixture.paths("/admin/delete_topics/") == []
