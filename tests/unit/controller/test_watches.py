"""What others write into the store, and what the controller makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cluster import znodes
from kcompat.controller.values import TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, SetData
from support.cluster_world import ClusterWorld
from support.controller_world import ControllerWorld, answer, register

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_topic_that_another_has_made_gets_leaders_and_is_shown() -> None:
    async with ClusterWorld() as world:
        assignment = znodes.TopicAssignment(b"n" * 16, ((1,), (7, 1), (7,)))
        await world.session.create(
            znodes.config_path("topics", "t"), znodes.encode_config({"retention.ms": "5"})
        )
        await world.session.create(znodes.topic_path("t"), znodes.encode_topic(assignment))
        await world.shown(lambda image: "t" in image.topics)
        image = world.cluster.image
        assert [part.leader for part in image.topics["t"].partitions.values()] == [1, 1, -1]
        assert image.topics["t"].topic_id == b"n" * 16
        assert image.configs("topics", "t") == {"retention.ms": "5"}
        assert await world.session.exists(znodes.partition_state_path("t", 2)) is None
        await world.register(7)
        await world.shown(lambda image: image.topics["t"].partitions[2].leader == 7)


async def test_partitions_that_another_has_added_get_leaders() -> None:
    async with ClusterWorld() as world:
        await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        data, _ = await world.session.get(znodes.topic_path("t"))
        topic = znodes.decode_topic(data)
        grown = znodes.TopicAssignment(topic.topic_id, ((1,), (1,), (1,)))
        await world.session.set(znodes.topic_path("t"), znodes.encode_topic(grown))
        await world.shown(lambda image: len(image.topics["t"].partitions) == 3)
        assert world.cluster.image.topics["t"].partitions[2].leader == 1


async def test_a_topic_whose_nodes_somebody_removed_is_shown_no_more() -> None:
    async with ClusterWorld() as world:
        await answer(world.decisions.create_topics([TopicSpec("t", 1, 1), TopicSpec("u", 1, 1)]))
        for path in (
            znodes.partition_state_path("t", 0),
            znodes.partition_path("t", 0),
            "/brokers/topics/t/partitions",
            "/brokers/topics/t",
        ):
            await world.session.delete(path)
        await world.shown(lambda image: "t" not in image.topics)
        assert list(world.cluster.image.topics) == ["u"]


async def test_a_mark_that_another_has_made_deletes_the_topic() -> None:
    async with ClusterWorld() as world:
        await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        await world.session.create(znodes.delete_topic_path("t"))
        await world.session.create(znodes.delete_topic_path("nothing"))
        await world.shown(lambda image: "t" not in image.topics)
        await answer(world.decisions.allocate_producer_ids())
        assert await world.session.exists(znodes.topic_path("t")) is None
        assert await world.session.children(znodes.DELETE_TOPICS) == []


async def test_tools_of_old_elect_and_reassign() -> None:
    async with ClusterWorld() as world:
        await world.create_with_dead_replica("t")
        wanted = znodes.encode_reassignments({("t", 0): (1,), ("none", 0): (1,)})
        await world.session.create(znodes.REASSIGN_PARTITIONS, wanted)
        await world.shown(lambda image: image.topics["t"].partitions[0].replicas == (1,))
        await world.create_with_dead_replica("u")
        await world.register(7)
        await world.session.set(
            znodes.partition_state_path("u", 0),
            znodes.encode_partition_state(znodes.PartitionState(1, 0, 1, (1, 7))),
        )
        partitions = b'{"version":1,"partitions":[{"topic":"u","partition":0}]}'
        notice = f"{znodes.ISR_CHANGES}/isr_change_"
        await world.session.create(notice, partitions, sequential=True)
        await world.shown(lambda image: image.topics["u"].partitions[0].isr == (1, 7))
        await world.session.create(znodes.PREFERRED_REPLICA_ELECTION, partitions)
        await world.shown(lambda image: image.topics["u"].partitions[0].leader == 7)
        await answer(world.decisions.allocate_producer_ids())
        for path in (znodes.REASSIGN_PARTITIONS, znodes.PREFERRED_REPLICA_ELECTION):
            assert await world.session.exists(path) is None
        assert await world.session.children(znodes.ISR_CHANGES) == []


@pytest.mark.parametrize("path", [znodes.REASSIGN_PARTITIONS, znodes.PREFERRED_REPLICA_ELECTION])
async def test_a_node_that_makes_no_sense_is_left_alone(path: str) -> None:
    async with ClusterWorld() as world:
        await world.session.create(path, b"nonsense")
        (created,) = await answer(world.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NONE
        assert await world.session.exists(path) is not None


async def test_a_broker_that_lost_a_directory_says_which_replicas_failed(path: Path) -> None:
    async with ControllerWorld(path, {}, 2) as world:
        spec = TopicSpec("t", assignments=[(0, [2, 1]), (1, [2, 1])])
        await answer(world.decisions.create_topics([spec]))
        world.others[2].broken = {("t", 1)}
        notice = f"{znodes.LOG_DIR_EVENTS}/log_dir_event_"
        await world.session.create(notice, znodes.encode_log_dir_event(2), sequential=True)
        await world.until(lambda: world.broker.image.topics["t"].partitions[1].leader == 1)
        assert world.broker.image.topics["t"].partitions[0].leader == 2
        assert world.broker.image.topics["t"].partitions[1].offline == (2,)
        assert world.paths(f"{znodes.LOG_DIR_EVENTS}/") == []


@pytest.mark.parametrize("nonsense", [b"nonsense", b"{}", b""])
async def test_a_lost_directory_is_heard_of_beside_a_notification_that_makes_no_sense(
    path: Path, nonsense: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with ControllerWorld(path, {}, 2) as world:
        await answer(world.decisions.create_topics([TopicSpec("t", assignments=[(0, [2, 1])])]))
        world.others[2].broken = {("t", 0)}
        notice = f"{znodes.LOG_DIR_EVENTS}/log_dir_event_"
        await world.session.multi(
            [
                Create(notice, nonsense, sequential=True),
                Create(notice, znodes.encode_log_dir_event(2), sequential=True),
            ]
        )
        await world.until(lambda: world.broker.image.topics["t"].partitions[0].leader == 1)
        assert world.paths(f"{znodes.LOG_DIR_EVENTS}/") == []
    assert f"removed: {notice}0000000000: " in caplog.text


async def test_a_changed_isr_is_heard_of_beside_a_notification_that_makes_no_sense() -> None:
    async with ClusterWorld() as world:
        await world.create_with_dead_replica("u")
        await world.register(7)
        state = znodes.encode_partition_state(znodes.PartitionState(1, 0, 1, (1, 7)))
        partitions = b'{"version":1,"partitions":[{"topic":"u","partition":0}]}'
        notice = f"{znodes.ISR_CHANGES}/isr_change_"
        await world.session.multi(
            [
                SetData(znodes.partition_state_path("u", 0), state),
                Create(notice, b'{"partitions":[{}]}', sequential=True),
                Create(notice, partitions, sequential=True),
            ]
        )
        await world.shown(lambda image: image.topics["u"].partitions[0].isr == (1, 7))
        await answer(world.decisions.allocate_producer_ids())
        assert await world.session.children(znodes.ISR_CHANGES) == []


async def test_brokers_come_and_go(path: Path) -> None:
    async with ControllerWorld(path, {}, 2) as world:
        spec = TopicSpec("t", assignments=[(0, [2, 1])])
        await answer(world.decisions.create_topics([spec]))
        await world.sessions[2].close()
        await world.until(lambda: list(world.broker.image.brokers) == [1])
        await world.until(lambda: world.broker.image.topics["t"].partitions[0].leader == 1)
        assert world.broker.image.topics["t"].partitions[0].isr == (1,)
        assert world.others[2].closed == 1
        await register(await world.store.session(), 2)
        await world.until(lambda: world.others[2].roles["t", 0].role.leader == 1)
        assert world.others[2].image.topics["t"].partitions[0].isr == (1,)
