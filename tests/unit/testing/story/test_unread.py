"""Sentences about consumers that got no records although their requests were answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcompat.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kcompat.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcompat.testing.story.evidence import Evidence
from kcompat.testing.story.unread import committed_at_the_end, is_typo, near_names, without_brokers
from support.log_dumps import batch_at
from support.recorded_requests import recorded, topic

if TYPE_CHECKING:
    from kcompat.instrumentation.recording.entry import RecordedRequest


def evidence(*requests: RecordedRequest, **rest: object) -> Evidence:
    return Evidence("localhost:9092", list(requests), **rest)  # type: ignore[arg-type]


def committed(offset: int, port: int = 1, *, grouped: bool = False) -> RecordedRequest:
    """The answer to a member of the group g about its committed offset in t-0."""
    if grouped:
        rows = OffsetFetchResponse.OffsetFetchResponsePartitions(committed_offset=offset)
        topics = [OffsetFetchResponse.OffsetFetchResponseTopics(name="t", partitions=[rows])]
        group = OffsetFetchResponse.OffsetFetchResponseGroup(group_id="g", topics=topics)
        asked = OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g", topics=None)
        request = OffsetFetchRequest(groups=[asked])
        return recorded(request, OffsetFetchResponse(groups=[group]), version=8, port=port)
    row = OffsetFetchResponse.OffsetFetchResponsePartition(committed_offset=offset)
    answer = OffsetFetchResponse(
        topics=[OffsetFetchResponse.OffsetFetchResponseTopic(name="t", partitions=[row])]
    )
    return recorded(OffsetFetchRequest(group_id="g"), answer, version=5, port=port)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_group_that_has_read_everything(grouped: bool) -> None:
    topics = {"t": topic("t", 3)}
    [sentence] = committed_at_the_end(evidence(committed(3, grouped=grouped), topics=topics))
    assert sentence == (
        "client goes on behind the last record of t-0: its group g had committed offset 3 there, which is "
        "the end. Use a group of its own for each test, or seek to the beginning."
    )
    assert not [*committed_at_the_end(evidence(committed(2, grouped=grouped), topics=topics))]
    assert not [*committed_at_the_end(evidence(committed(0), topics={"t": topic("t", 0)}))]


def test_a_member_that_committed_by_itself_has_made_no_mistake() -> None:
    asked = [committed(-1), committed(3)]
    assert not [*committed_at_the_end(evidence(*asked, topics={"t": topic("t", 3)}))]


def test_a_topic_that_was_written_by_a_name_with_a_typo() -> None:
    partition = ProduceRequest.PartitionProduceData(records=batch_at(0, b"order"))
    row = ProduceResponse.PartitionProduceResponse()
    asked = recorded(
        ProduceRequest(
            topic_data=[ProduceRequest.TopicProduceData(name="ordres", partition_data=[partition])]
        ),
        ProduceResponse(
            responses=[ProduceResponse.TopicProduceResponse(name="ordres", partition_responses=[row])]
        ),
        version=3,
    )
    names = {"orders": topic("orders", 0, 0), "ordres": topic("ordres", 1)}
    [sentence] = near_names(evidence(asked, topics=names))
    assert sentence.startswith(
        "ordres was written in this test and not read, and orders is empty: did you mean the same topic?"
    )
    assert not [*near_names(evidence(asked, topics=names | {"orders": topic("orders", 0, 1)}))]


def test_a_partition_whose_only_replica_does_not_run() -> None:
    asked = recorded(
        MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="o")]),
        MetadataResponse(),
        version=4,
    )
    o = topic("o", 0)
    lost = structs.replace(o, partitions=(structs.replace(o.partitions[0], leader=-1, replicas=(2,)),))
    [sentence] = without_brokers(evidence(asked, topics={"o": lost}, stopped=frozenset({2})))
    assert sentence.startswith("o-0 has one replica, broker 2, which is not running: start it again")
    assert not [*without_brokers(evidence(asked, topics={"o": lost}, stopped=frozenset({1})))]
    assert not [*without_brokers(evidence(topics={"o": lost}, stopped=frozenset({2})))]


@pytest.mark.parametrize("name", ["order", "orderss", "ordres", "ordexs", "rders", "oders"])
def test_a_letter_that_is_missing_wrong_or_swapped_is_a_typo(name: str) -> None:
    assert is_typo(name, "orders")
    assert is_typo("orders", name)


@pytest.mark.parametrize("name", ["orders", "orders1", "sredro", "ord", "users"])
def test_other_names_are_no_typo(name: str) -> None:
    assert not is_typo(name, "orders")
    assert not is_typo("test_a-1", "test_a-2")
