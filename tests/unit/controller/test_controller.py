"""The controller with a store and a broker that does as it is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kcompat.cluster.payloads import DamagedZnodeError
from kcompat.cluster.znodes import ProducerIdBlock
from kcompat.controller import loading
from kcompat.controller.offline_replicas import ReplicasFailed
from kcompat.controller.values import PartitionsSpec, TopicOutcome, TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from support.controlled_brokers import register
from support.controllers import ControllerFixture, answer

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_new_cluster_has_one_broker_which_is_its_controller(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        image = fixture.broker.image
        assert (image.cluster_id, image.controller_id) == ("the-cluster", 1)
        assert image.brokers[1].endpoints == {"PLAINTEXT": ("h1", 9092)}
        data, stat = await fixture.session.get("/controller")
        assert json.loads(data)["brokerid"] == 1
        assert stat.ephemeral_owner == fixture.session.session_id
        _, stat = await fixture.session.get("/brokers/ids/1")
        assert (await fixture.loaded()).brokers[1].epoch == stat.czxid


async def test_topics_configs_and_epochs_survive_a_restart(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        specs = [TopicSpec("t", 2, 1, configs=[("retention.ms", "5")]), TopicSpec("u", 1, 1)]
        created = await answer(fixture.decisions.create_topics(specs))
        await answer(fixture.decisions.create_partitions([PartitionsSpec("t", 3)]))
        await answer(fixture.configs.replace("brokers", "<default>", {"num.io.threads": "3"}))
        before = await fixture.loaded()
    async with ControllerFixture(path) as fixture:
        image = fixture.broker.image
        assert {name: topic.topic_id for name, topic in image.topics.items()} == {
            result.name: result.topic_id for result in created
        }
        after = await fixture.loaded()
        assert after.epoch == before.epoch + 1
        assert after.brokers[1].epoch > before.brokers[1].epoch
        assert [part.leader_epoch for part in image.topics["t"].partitions.values()] == [1, 1, 1]
        assert image.configs("topics", "t") == {"retention.ms": "5"}
        assert image.configs("brokers", "<default>") == {"num.io.threads": "3"}
        assert sorted(fixture.broker.roles) == [("t", 0), ("t", 1), ("t", 2), ("u", 0)]
        assert fixture.broker.roles["t", 0].role.leader == 1


async def test_a_deleted_topic_leaves_no_node_behind(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        empty = fixture.paths("/")
        await answer(fixture.decisions.create_topics([TopicSpec("t", 2, 1)]))
        outcomes = await answer(fixture.decisions.delete_topics(["t", "none"]))
        assert outcomes == {"t": TopicOutcome(), "none": TopicOutcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}
        assert fixture.broker.deleted == [("t", 0), ("t", 1)]
        assert fixture.paths("/") == empty
        (again,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert again.error is ErrorCode.NONE


async def test_an_unfinished_deletion_is_finished_by_the_next_start(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1), TopicSpec("u", 1, 1)]))
        fixture.broker.broken = {("t", 0)}
        outcomes = await answer(fixture.decisions.delete_topics(["t"]))
        assert outcomes == {"t": TopicOutcome(ErrorCode.REQUEST_TIMED_OUT)}
        (refused,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert refused.message == "Topic 't' is marked for deletion."
        assert await answer(fixture.decisions.ensure_topics(["t"])) == {"t": ErrorCode.NONE}
        assert "t" not in fixture.broker.image.topics
    async with ControllerFixture(path) as fixture:
        assert list(fixture.broker.image.topics) == ["u"]
        assert fixture.broker.deleted == [("t", 0)]
        assert ("topics", "t") not in fixture.broker.image.entity_configs
        assert fixture.paths("/brokers/topics/t") == []
        assert fixture.paths("/admin/delete_topics/") == []
        (created,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NONE


async def test_a_partition_whose_log_cannot_be_made_has_no_leader(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        fixture.broker.broken = {("t", 1)}
        (created,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 2, 1)]))
        assert created.error is ErrorCode.NONE
        assert [part.leader for part in fixture.broker.image.topics["t"].partitions.values()] == [1, -1]
        await answer(fixture.controller_election.submit(ReplicasFailed(1, frozenset({("t", 0)}))))
        assert [part.leader for part in fixture.broker.image.topics["t"].partitions.values()] == [-1, -1]
    async with ControllerFixture(path) as fixture:
        assert [part.leader for part in fixture.broker.image.topics["t"].partitions.values()] == [1, 1]
        assert [part.leader_epoch for part in fixture.broker.image.topics["t"].partitions.values()] == [2, 2]


async def test_automatic_topics(path: Path) -> None:
    settings = {
        "num.partitions": "3",
        "offsets.topic.num.partitions": "5",
        "offsets.topic.replication.factor": "1",
        "auto.create.topics.enable": "true",
    }
    async with ControllerFixture(path, settings) as fixture:
        errors = await answer(fixture.decisions.ensure_topics(["t", "__consumer_offsets", "a b"]))
        assert errors == {
            "t": ErrorCode.NONE,
            "__consumer_offsets": ErrorCode.NONE,
            "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        }
        image = fixture.broker.image
        assert len(image.topics["t"].partitions) == 3
        offsets = image.topics["__consumer_offsets"]
        assert (len(offsets.partitions), offsets.replication_factor, offsets.is_internal) == (5, 1, True)
        assert image.configs("topics", "__consumer_offsets") == {
            "cleanup.policy": "compact",
            "segment.bytes": "104857600",
            "compression.type": "producer",
        }
        assert await answer(fixture.decisions.ensure_topics(["t"])) == {"t": ErrorCode.NONE}
        assert image is fixture.broker.image


@pytest.mark.parametrize(
    ("topic", "key"),
    [
        (CONSUMER_OFFSETS, "offsets.topic.replication.factor"),
        (TRANSACTION_STATE, "transaction.state.log.replication.factor"),
        (SHARE_GROUP_STATE, "share.coordinator.state.topic.replication.factor"),
    ],
)
async def test_an_internal_topic_waits_for_as_many_brokers_as_it_has_replicas(
    path: Path, topic: str, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with ControllerFixture(path, {}, 2) as fixture:
        for _ in range(2):
            errors = await answer(fixture.decisions.ensure_topics([topic]))
            assert errors == {topic: ErrorCode.INVALID_REPLICATION_FACTOR}
        assert topic not in fixture.broker.image.topics
        assert caplog.text.count(f"{topic} cannot be made yet: {key}=3") == 1
        session = await fixture.store.session()
        await register(session, 3)
        await fixture.until(lambda: 3 in fixture.broker.image.brokers)
        fixture.decisions.brokers_joined()
        await fixture.until(lambda: topic in fixture.broker.image.topics)
        assert fixture.broker.image.topics[topic].replication_factor == 3


async def test_an_auto_created_topic_is_refused_with_fewer_brokers_than_replicas(path: Path) -> None:
    async with ControllerFixture(path, {"default.replication.factor": "2"}) as fixture:
        errors = await answer(fixture.decisions.ensure_topics(["t"]))
        assert errors == {"t": ErrorCode.INVALID_REPLICATION_FACTOR}


async def test_producer_ids_are_never_given_twice(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        assert await answer(fixture.decisions.allocate_producer_ids()) == ProducerIdBlock(1, 0, 999)
        assert await answer(fixture.decisions.allocate_producer_ids()) == ProducerIdBlock(1, 1000, 1999)
        assert await answer(fixture.producer_ids.next()) == 2000
    async with ControllerFixture(path) as fixture:
        assert await answer(fixture.producer_ids.next()) == 3000
        assert await answer(fixture.producer_ids.next()) == 3001


async def test_a_controller_whose_epoch_is_over_writes_nothing_and_stands_for_election_again(
    path: Path,
) -> None:
    async with ControllerFixture(path) as fixture:
        other = await fixture.store.session()
        await other.set("/controller_epoch", b"9")
        before = fixture.paths("/")
        (created,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NOT_CONTROLLER
        assert fixture.paths("/") == before
        assert not fixture.controller_election.is_here
        await fixture.in_office()
        assert (await fixture.loaded()).epoch == 10
        (created,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NONE


async def test_a_store_that_cannot_write_refuses_and_recovers(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        fixture.disk.full = True
        (created,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.KAFKA_STORAGE_ERROR
        assert await answer(fixture.producer_ids.next()) is None
        fixture.disk.full = False
        assert "t" not in fixture.broker.image.topics
        (created,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        assert created.error is ErrorCode.NONE
        assert await answer(fixture.producer_ids.next()) == 0


async def test_a_damaged_node_is_named(path: Path) -> None:
    async with ControllerFixture(path) as fixture:
        await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
        await fixture.session.set("/brokers/topics/t/partitions/0/state", b"{}")
        with pytest.raises(DamagedZnodeError, match=r"^/brokers/topics/t/partitions/0/state: "):
            await loading.load(fixture.session, 1, 1, 1)
