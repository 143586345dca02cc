"""The handler of AlterPartition."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import alter_partition
from kcompat.controller.values import TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.alter_partition import AlterPartitionRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying
from support.cluster_of_one import ClusterFixture
from support.controllers import answer

Topic = AlterPartitionRequest.TopicData
Row = AlterPartitionRequest.PartitionData
Member = AlterPartitionRequest.BrokerState


async def ask(fixture: ClusterFixture, version: int, *rows: Row, topic_id: bytes | None = None) -> Any:
    """Broker 1 proposes ISRs for partitions of the topic "t"."""
    (created,) = await answer(fixture.decisions.create_topics([TopicSpec("t", 1, 1)]))
    _, stat = await fixture.session.get("/brokers/ids/1")
    for each in rows:
        if version < 3:
            each.new_isr_with_epochs = []
        else:
            each.new_isr = []
    named = Topic(topic_name="t", topic_id=topic_id or created.topic_id, partitions=list(rows))
    request = AlterPartitionRequest(broker_id=1, broker_epoch=stat.czxid, topics=[named])
    return await fixture.ask(alter_partition, version, request)


def row(*isr: int, index: int = 0, leader_epoch: int = 0) -> Row:
    members = [Member(broker_id) for broker_id in isr]
    return Row(
        partition_index=index, leader_epoch=leader_epoch, new_isr=list(isr), new_isr_with_epochs=members
    )


@pytest.mark.parametrize("version", range(4))
async def test_each_partition_has_its_answer(version: int) -> None:
    async with ClusterFixture() as fixture:
        response = await ask(fixture, version, row(1), row(1, index=5), row(1, leader_epoch=-1), row(1, 2))
        assert response.error_code == 0
        (topic,) = response.topics
        if version < 2:
            assert topic.topic_name == "t"
        else:
            assert topic.topic_id == fixture.cluster.image.topics["t"].topic_id
        accepted, unknown, fenced, odd = topic.partitions
        assert (accepted.error_code, accepted.leader_id, accepted.isr) == (0, 1, [1])
        assert [each.error_code for each in (unknown, fenced, odd)] == [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.FENCED_LEADER_EPOCH,
            ErrorCode.INVALID_REQUEST,
        ]


async def test_an_unknown_topic_id() -> None:
    async with ClusterFixture() as fixture:
        response = await ask(fixture, 3, row(1), topic_id=b"?" * 16)
        assert [each.error_code for each in response.topics[0].partitions] == [ErrorCode.UNKNOWN_TOPIC_ID]


async def test_another_broker_epoch_and_no_controller() -> None:
    async with ClusterFixture() as fixture:
        request = AlterPartitionRequest(broker_id=1, broker_epoch=-1)
        response = await fixture.ask(alter_partition, 3, request)
        assert response.error_code == ErrorCode.STALE_BROKER_EPOCH
        await fixture.controller_election.stop()
        assert (await fixture.ask(alter_partition, 3, request)).error_code == ErrorCode.NOT_CONTROLLER


async def test_only_brokers_may_ask() -> None:
    async with ClusterFixture() as fixture:
        fixture.authorizer = Denying((Operation.CLUSTER_ACTION, CLUSTER))
        response = await fixture.ask(alter_partition, 3, AlterPartitionRequest())
        assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
