"""Changes that other programs write into the store, and the controller's reactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster import znodes
from kcompat.controller.values import TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, SetData
from support.cluster_of_one import ClusterFixture
from support.controlled_brokers import register
from support.controllers import ControllerFixture, answer

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_topic_that_another_has_made_gets_leaders_and_is_shown() -> None:
    async with ClusterFixture() as fixture:
        assignment = znodes.TopicAssignment(b"n" * 16, ((1,), (7, 1), (7,)))
        await fixture.session.create(
            znodes.config_path("topics", "t"), znodes.encode_config({"retention.ms": "5"})
        )
        await fixture.session.create(znodes.topic_path("t"), znodes.encode_topic(assignment))
        await fixture.shown(lambda image: "t" in image.topics)
        image = fixture.cluster.image
        assert [part.leader for part in image.topics["t"].partitions.values()] == [1, 1, -1]
        assert image.topics["t"].topic_id == b"n" * 16
        assert image.configs("topics", "t") == {"retention.ms": "5"}
        assert await fixture.session.exists(znodes.partition_state_path("t", 2)) is None
        await fixture.register(7)
        await fixture.shown(lambda image: image.topics["t"].partitions[2].leader == 7)


async def test_partitions_that_another_has_added_get_leaders() -> None:
    async with ClusterFixture() as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        data, _ = await fixture.session.get(znodes.topic_path("t"))
        topic = znodes.decode_topic(data)
        grown = znodes.TopicAssignment(topic.topic_id, ((1,), (1,), (1,)))
        await fixture.session.set(znodes.topic_path("t"), znodes.encode_topic(grown))
        await fixture.shown(lambda image: len(image.topics["t"].partitions) == 3)
        assert fixture.cluster.image.topics["t"].partitions[2].leader == 1


async def test_a_topic_whose_nodes_somebody_removed_is_shown_no_more() -> None:
    async with ClusterFixture() as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1), TopicSpec("u", 1, 1)]))
        for path in (
            znodes.partition_state_path("t", 0),
            znodes.partition_path("t", 0),
            "/brokers/topics/t/partitions",
            "/brokers/topics/t",
        ):
            await fixture.session.delete(path)
        await fixture.shown(lambda image: "t" not in image.topics)
        assert list(fixture.cluster.image.topics) == ["u"]


async def test_a_mark_that_another_has_made_deletes_the_topic() -> None:
    async with ClusterFixture() as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        await fixture.session.create(znodes.delete_topic_path("t"))
        await fixture.session.create(znodes.delete_topic_path("nothing"))
        await fixture.shown(lambda image: "t" not in image.topics)
        await answer(fixture.decisions.allocate_producer_ids())
        assert await fixture.session.exists(znodes.topic_path("t")) is None
        assert await fixture.session.children(znodes.DELETE_TOPICS) == []


async def test_tools_of_old_elect_and_reassign() -> None:
    async with ClusterFixture() as fixture:
        await fixture.create_with_dead_replica("t")
        wanted = znodes.encode_reassignments({("t", 0): (1,), ("none", 0): (1,)})
        await fixture.session.create(znodes.REASSIGN_PARTITIONS, wanted)
        await fixture.shown(lambda image: image.topics["t"].partitions[0].replicas == (1,))
        await fixture.create_with_dead_replica("u")
        await fixture.register(7)
        await fixture.session.set(
            znodes.partition_state_path("u", 0),
            znodes.encode_partition_state(znodes.StoredPartitionState(1, 0, 1, (1, 7))),
        )
        partitions = b'{"version":1,"partitions":[{"topic":"u","partition":0}]}'
        notice = f"{znodes.ISR_CHANGES}/isr_change_"
        await fixture.session.create(notice, partitions, sequential=True)
        await fixture.shown(lambda image: image.topics["u"].partitions[0].isr == (1, 7))
        await fixture.session.create(znodes.PREFERRED_REPLICA_ELECTION, partitions)
        await fixture.shown(lambda image: image.topics["u"].partitions[0].leader == 7)
        await answer(fixture.decisions.allocate_producer_ids())
        for path in (znodes.REASSIGN_PARTITIONS, znodes.PREFERRED_REPLICA_ELECTION):
            assert await fixture.session.exists(path) is None
        assert await fixture.session.children(znodes.ISR_CHANGES) == []


@pytest.mark.parametrize("path", [znodes.REASSIGN_PARTITIONS, znodes.PREFERRED_REPLICA_ELECTION])
async def test_a_node_that_makes_no_sense_is_left_alone(path: str) -> None:
    async with ClusterFixture() as fixture:
        await fixture.session.create(path, b"nonsense")
        (created,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NONE
        assert await fixture.session.exists(path) is not None


async def test_a_broker_that_lost_a_directory_says_which_replicas_failed(path: Path) -> None:
    async with ControllerFixture(path, {}, 2) as fixture:
        spec = TopicSpec("t", assignments=[(0, [2, 1]), (1, [2, 1])])
        await answer(fixture.decisions.create_topics([spec]))
        fixture.others[2].broken = {("t", 1)}
        notice = f"{znodes.LOG_DIR_EVENTS}/log_dir_event_"
        await fixture.session.create(notice, znodes.encode_log_dir_event(2), sequential=True)
        await fixture.until(lambda: fixture.broker.image.topics["t"].partitions[1].leader == 1)
        assert fixture.broker.image.topics["t"].partitions[0].leader == 2
        assert fixture.broker.image.topics["t"].partitions[1].offline == (2,)
        assert fixture.paths(f"{znodes.LOG_DIR_EVENTS}/") == []


@pytest.mark.parametrize("nonsense", [b"nonsense", b"{}", b""])
async def test_a_lost_directory_is_heard_of_beside_a_notification_that_makes_no_sense(
    path: Path, nonsense: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with ControllerFixture(path, {}, 2) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", assignments=[(0, [2, 1])])]))
        fixture.others[2].broken = {("t", 0)}
        notice = f"{znodes.LOG_DIR_EVENTS}/log_dir_event_"
        await fixture.session.multi(
            [
                Create(notice, nonsense, sequential=True),
                Create(notice, znodes.encode_log_dir_event(2), sequential=True),
            ]
        )
        await fixture.until(lambda: fixture.broker.image.topics["t"].partitions[0].leader == 1)
        assert fixture.paths(f"{znodes.LOG_DIR_EVENTS}/") == []
    assert f"removed: {notice}0000000000: " in caplog.text


async def test_a_changed_isr_is_heard_of_beside_a_notification_that_makes_no_sense() -> None:
    async with ClusterFixture() as fixture:
        await fixture.create_with_dead_replica("u")
        await fixture.register(7)
        state = znodes.encode_partition_state(znodes.StoredPartitionState(1, 0, 1, (1, 7)))
        partitions = b'{"version":1,"partitions":[{"topic":"u","partition":0}]}'
        notice = f"{znodes.ISR_CHANGES}/isr_change_"
        await fixture.session.multi(
            [
                SetData(znodes.partition_state_path("u", 0), state),
                Create(notice, b'{"partitions":[{}]}', sequential=True),
                Create(notice, partitions, sequential=True),
            ]
        )
        await fixture.shown(lambda image: image.topics["u"].partitions[0].isr == (1, 7))
        await answer(fixture.decisions.allocate_producer_ids())
        assert await fixture.session.children(znodes.ISR_CHANGES) == []


async def test_brokers_come_and_go(path: Path) -> None:
    async with ControllerFixture(path, {}, 2) as fixture:
        spec = TopicSpec("t", assignments=[(0, [2, 1])])
        await answer(fixture.decisions.create_topics([spec]))
        await fixture.sessions[2].close()
        await fixture.until(lambda: list(fixture.broker.image.brokers) == [1])
        await fixture.until(lambda: fixture.broker.image.topics["t"].partitions[0].leader == 1)
        assert fixture.broker.image.topics["t"].partitions[0].isr == (1,)
        assert fixture.others[2].closed == 1
        await register(await fixture.store.session(), 2)
        await fixture.until(lambda: fixture.others[2].roles["t", 0].role.leader == 1)
        assert fixture.others[2].image.topics["t"].partitions[0].isr == (1,)
