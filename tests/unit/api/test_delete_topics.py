"""The handler of DeleteTopics."""

from __future__ import annotations

import pytest

from kcompat.api import delete_topics
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation, ResourceType
from support.asking import Denying
from support.cluster_of_one import ClusterFixture

ToDelete = DeleteTopicsRequest.DeleteTopicState
TIMEOUT_MS = 5000


@pytest.mark.parametrize("version", range(6))
async def test_delete_by_name(version: int) -> None:
    async with ClusterFixture() as fixture:
        await fixture.create("a", "b", "c")
        request = DeleteTopicsRequest(topic_names=["a", "none", "b", "b"], timeout_ms=TIMEOUT_MS)
        response = await fixture.ask(delete_topics, version, request)
        assert {row.name: row.error_code for row in response.responses} == {"a": 0, "none": 3, "b": 42}
        assert len(response.responses) == 3
        assert list(fixture.cluster.image.topics) == ["b", "c"]
        if version >= 5:
            messages = {row.name: row.error_message for row in response.responses}
            assert (messages["a"], messages["b"]) == (None, "Duplicate topic name.")


async def test_delete_by_id_and_name() -> None:
    async with ClusterFixture() as fixture:
        ids = await fixture.create("a", "b", "c")
        unknown = b"\x03" * 16
        rows = [
            ToDelete(name="a"),
            ToDelete(topic_id=ids["b"]),
            ToDelete(topic_id=unknown),
            ToDelete(name="none"),
        ]
        request = DeleteTopicsRequest(topics=rows, timeout_ms=TIMEOUT_MS)
        response = await fixture.ask(delete_topics, 6, request)
        assert [(row.name, row.topic_id, row.error_code) for row in response.responses] == [
            ("a", ids["a"], 0),
            ("b", ids["b"], 0),
            (None, unknown, 100),
            ("none", bytes(16), 3),
        ]
        assert list(fixture.cluster.image.topics) == ["c"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            lambda topic_id: [ToDelete(name="a", topic_id=topic_id)],
            "You may not specify both topic name and topic id.",
        ),
        (lambda _: [ToDelete()], "Neither topic name nor id were specified."),
        (lambda _: [ToDelete(name="a"), ToDelete(name="a")], "Duplicate topic name."),
        (lambda topic_id: [ToDelete(topic_id=topic_id)] * 2, "Duplicate topic id."),
        (
            lambda topic_id: [ToDelete(name="a"), ToDelete(topic_id=topic_id)],
            "The provided topic name maps to an ID that was already supplied.",
        ),
    ],
)
async def test_delete_that_contradicts_itself_deletes_nothing(rows: object, message: str) -> None:
    async with ClusterFixture() as fixture:
        ids = await fixture.create("a")
        assert callable(rows)
        request = DeleteTopicsRequest(topics=rows(ids["a"]), timeout_ms=TIMEOUT_MS)
        response = await fixture.ask(delete_topics, 6, request)
        (row,) = response.responses
        assert (row.error_code, row.error_message) == (42, message)
        assert list(fixture.cluster.image.topics) == ["a"]


async def test_delete_without_time_shows_only_what_is_wrong_with_the_request() -> None:
    async with ClusterFixture() as fixture:
        await fixture.create("a")
        rows = [ToDelete(name="a"), ToDelete(name="none"), ToDelete()]
        response = await fixture.ask(delete_topics, 6, DeleteTopicsRequest(topics=rows, timeout_ms=0))
        assert [row.error_code for row in response.responses] == [7, 7, 42]
        assert list(fixture.cluster.image.topics) == ["a"]


@pytest.mark.parametrize(("version", "error"), [(2, 42), (3, 73)])
async def test_delete_where_it_is_disabled(version: int, error: int) -> None:
    async with ClusterFixture(delete_topic_enable="false") as fixture:
        await fixture.create("a")
        request = DeleteTopicsRequest(topic_names=["a"], timeout_ms=TIMEOUT_MS)
        response = await fixture.ask(delete_topics, version, request)
        assert [row.error_code for row in response.responses] == [error]
        assert list(fixture.cluster.image.topics) == ["a"]


async def test_who_may_not_describe_a_topic_learns_nothing_of_it() -> None:
    async with ClusterFixture() as fixture:
        ids = await fixture.create("a", "b")
        everywhere = (Operation.DELETE, CLUSTER)
        hidden = [(operation, Resource.topic("b")) for operation in (Operation.DELETE, Operation.DESCRIBE)]
        fixture.authorizer = Denying(everywhere, *hidden, (Operation.DESCRIBE, Resource.topic("none")))
        asked = [ToDelete(name="none"), ToDelete(name="b"), ToDelete(name=None, topic_id=ids["b"])]
        answer = await fixture.ask(delete_topics, 6, DeleteTopicsRequest(topics=asked, timeout_ms=TIMEOUT_MS))
        rows = [(row.name, row.topic_id, row.error_code) for row in answer.responses]
        assert rows == [("none", bytes(16), 29), ("b", bytes(16), 29), (None, ids["b"], 29)]
        fixture.authorizer = Denying(everywhere, hidden[0])
        answer = await fixture.ask(
            delete_topics, 6, DeleteTopicsRequest(topics=asked[2:], timeout_ms=TIMEOUT_MS)
        )
        assert [(row.name, row.error_code) for row in answer.responses] == [("b", 29)]
        assert fixture.cluster.image.topics.keys() == {"a", "b"}


async def test_who_may_delete_on_the_cluster_may_delete_each_topic() -> None:
    async with ClusterFixture() as fixture:
        await fixture.create("a")
        fixture.authorizer = Denying((Operation.DELETE, ResourceType.TOPIC))
        request = DeleteTopicsRequest(topic_names=["a"], timeout_ms=TIMEOUT_MS)
        assert [row.error_code for row in (await fixture.ask(delete_topics, 5, request)).responses] == [0]
