"""CreateTopics, CreatePartitions and DeleteTopics of clients with a `controller_mutation_rate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.api import create_partitions, create_topics, delete_topics
from kcompat.api.charges import Charges
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_partitions import CreatePartitionsRequest
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest
from kcompat.security.quotas.clients import ClientQuota
from kcompat.security.quotas.rates import QuotaWindow, TokenBucket
from support.cluster_of_one import ClusterFixture

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

NONE, EXCEEDED = ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED


class Limited(ClusterFixture):
    """A client that may create or delete one partition a second, and two at once."""

    async def __aenter__(self) -> Any:
        self.bucket = TokenBucket(1.0, QuotaWindow(2, 1000))
        return await super().__aenter__()

    async def mutate(self, module: Any, version: int, request: Message) -> tuple[list[int], int]:
        """Return the errors of the topics, and the throttle time in ms."""
        self.charges = Charges(ClientQuota(None, None, None, self.bucket), self.clock.now_ms)
        answer = await self.ask(module, version, request)
        rows = getattr(answer, "topics", None) or getattr(answer, "results", None) or answer.responses
        charges, self.charges = self.charges, None
        assert charges is not None
        return [row.error_code for row in rows], charges.settle()


def new(*topics: tuple[str, int], validate_only: bool = False) -> CreateTopicsRequest:
    rows = [
        CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        for name, partitions in topics
    ]
    return CreateTopicsRequest(topics=rows, validate_only=validate_only)


def more(topic: str, count: int, *, validate_only: bool = False) -> CreatePartitionsRequest:
    row = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=count, assignments=None)
    return CreatePartitionsRequest(topics=[row], timeout_ms=1000, validate_only=validate_only)


def gone(version: int, *topics: str) -> DeleteTopicsRequest:
    if version < delete_topics.FIRST_WITH_TOPIC_IDS:
        return DeleteTopicsRequest(topic_names=list(topics), timeout_ms=1000)
    rows = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in topics]
    return DeleteTopicsRequest(topics=rows, timeout_ms=1000)


async def test_a_strict_version_refuses_topics_while_the_quota_is_used_up() -> None:
    async with Limited() as fixture:
        asked = new(("a", 1), ("b", 4), ("c", 1))
        assert await fixture.mutate(create_topics, 6, asked) == ([NONE, NONE, EXCEEDED], 3000)
        assert sorted(fixture.cluster.image.topics) == ["a", "b"]
        fixture.clock.advance(2000)
        assert await fixture.mutate(create_topics, 7, new(("c", 1))) == ([EXCEEDED], 1000)
        fixture.clock.advance(1000)
        assert await fixture.mutate(create_topics, 7, new(("c", 1))) == ([NONE], 0)


async def test_an_older_version_creates_and_is_throttled() -> None:
    async with Limited() as fixture:
        assert await fixture.mutate(create_topics, 5, new(("a", 5), ("b", 1))) == ([NONE, NONE], 4000)
        assert sorted(fixture.cluster.image.topics) == ["a", "b"]


async def test_only_what_is_created_counts() -> None:
    async with Limited() as fixture:
        await fixture.create("old")
        refused = new(("old", 9), ("bad/name", 9), ("d", 9), ("d", 9))
        errors, throttle_ms = await fixture.mutate(create_topics, 7, refused)
        assert EXCEEDED not in errors
        assert throttle_ms == 0
        assert await fixture.mutate(create_topics, 7, new(("v", 9), validate_only=True)) == ([NONE], 0)
        assert fixture.bucket.is_idle(fixture.clock.now_ms())


async def test_default_and_assigned_partitions_count() -> None:
    async with Limited(num_partitions="4") as fixture:
        assert await fixture.mutate(create_topics, 5, new(("a", -1))) == ([NONE], 2000)
        assigned = CreateTopicsRequest.CreatableTopic(
            name="b",
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=[1])
                for index in range(3)
            ],
        )
        assert await fixture.mutate(create_topics, 5, CreateTopicsRequest(topics=[assigned])) == (
            [NONE],
            5000,
        )


@pytest.mark.parametrize(("version", "error"), [(2, NONE), (3, EXCEEDED)])
async def test_partitions_that_are_added_count(version: int, error: ErrorCode) -> None:
    async with Limited() as fixture:
        await fixture.create("t")
        assert await fixture.mutate(create_partitions, version, more("t", 5, validate_only=True)) == (
            [NONE],
            0,
        )
        expected_ms = 0 if version >= 3 else 1000
        assert await fixture.mutate(create_partitions, version, more("t", 5)) == ([NONE], expected_ms)
        errors, throttle_ms = await fixture.mutate(create_partitions, version, more("t", 6))
        assert errors == [error]
        assert throttle_ms == (1000 if version >= 3 else 2000)


async def test_a_request_for_fewer_partitions_counts_none() -> None:
    async with Limited() as fixture:
        await fixture.create("t")
        (error,), throttle_ms = await fixture.mutate(create_partitions, 3, more("t", 1))
        assert (error, throttle_ms) == (ErrorCode.INVALID_PARTITIONS, 0)
        assert fixture.bucket.is_idle(fixture.clock.now_ms())


@pytest.mark.parametrize(("version", "error"), [(4, NONE), (5, EXCEEDED), (6, EXCEEDED)])
async def test_partitions_of_deleted_topics_count(version: int, error: ErrorCode) -> None:
    async with Limited() as fixture:
        await fixture.create("a", "b", "c")
        asked = gone(version, "a", "b", "unknown", "c")
        errors, throttle_ms = await fixture.mutate(delete_topics, version, asked)
        assert errors == [NONE, NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, error]
        assert throttle_ms == (2000 if error else 4000)
        assert sorted(fixture.cluster.image.topics) == (["c"] if error else [])
