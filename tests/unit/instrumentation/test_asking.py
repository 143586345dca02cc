from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.instrumentation.asking import ask, kept
from kcompat.promise import Promise
from kcompat.protocol.messages.join_group import JoinGroupRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.produce import ProduceRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.disk import Disk
from support.lone_broker import BrokerFixture

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SECURED = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "60000",
}


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[BrokerFixture]:
    """A broker that denies everything to clients, and whose clock stands still."""
    fixture = BrokerFixture(tmp_path, SECURED, Disk([]), [], 0)
    await fixture.start()
    yield fixture
    await fixture.stop()


async def make_topic(broker: BrokerFixture, name: str) -> None:
    topics = [MetadataRequest.MetadataRequestTopic(name=name)]
    response = await ask(broker.node.parts, MetadataRequest(topics=topics), 12)
    assert response.topics[0].error_code == 0


async def test_everything_is_allowed(broker: BrokerFixture) -> None:
    await make_topic(broker, "t")
    parts = broker.node.parts
    assert [row.name for row in (await ask(parts, MetadataRequest(topics=None), 12)).topics] == ["t"]
    assert not parts.services.server.authorizer.allows_everything


async def test_a_request_that_stays_unanswered(broker: BrokerFixture) -> None:
    """Nothing completes the join while the clock of the broker stands still."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"m")
    request = JoinGroupRequest("g", 30_000, 60_000, "", "static", "consumer", [protocol])
    await make_topic(broker, "__consumer_offsets")
    with pytest.raises(TimeoutError, match=r"^the broker did not answer JOIN_GROUP within 0\.05 s$"):
        await ask(broker.node.parts, request, 5, timeout_s=0.05)


async def test_a_batch_is_appended(broker: BrokerFixture) -> None:
    await make_topic(broker, "t")
    batch = memoryview(build_batch([Record(0, 1000, None, b"v")]))
    data = ProduceRequest.PartitionProduceData(0, batch)
    topic = ProduceRequest.TopicProduceData("t", partition_data=[data])
    response = await ask(broker.node.parts, ProduceRequest(acks=1, topic_data=[topic]), 12)
    row = response.responses[0].partition_responses[0]
    assert (row.error_code, row.base_offset) == (0, 0)


async def test_a_promise_that_fails() -> None:
    promise: Promise[int] = Promise()
    promise.fail(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await kept(promise)
    assert await kept(Promise.resolved(7)) == 7
