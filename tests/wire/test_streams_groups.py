"""A streams group has its topics made wherever the controller is, and outlives who coordinates it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Cluster
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kcompat.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from support.cluster_asking import GROUP, ask, ask_coordinator, coordinator, create, until

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = {
    "zookeeper.session.timeout.ms": 3000,
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "offsets.topic.num.partitions": 5,
    "offsets.topic.replication.factor": 3,
}
TOPIC, CHANGELOG, MEMBER = "t", "app-log", "m"
Request = StreamsGroupHeartbeatRequest


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(3, config=SETTINGS) as started:
        yield started


def joining(group_id: str) -> StreamsGroupHeartbeatRequest:
    """A member of an application that keeps state."""
    changelog = Request.TopicInfo(CHANGELOG, 0, 3, [Request.KeyValue("cleanup.policy", "compact")])
    subtopology = Request.Subtopology("0", [TOPIC], state_changelog_topics=[changelog])
    return Request(
        group_id,
        MEMBER,
        0,
        rebalance_timeout_ms=60_000,
        topology=Request.Topology(0, [subtopology]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
    )


def test_a_group_goes_on_with_another_coordinator(cluster: Cluster) -> None:
    leader = cluster.brokers[0].id
    create(cluster, leader, TOPIC, partitions=2)
    controller = ask(cluster, leader, MetadataRequest(topics=None), 9).controller_id
    ids = [each.id for each in cluster.brokers]

    def coordinated_elsewhere(group_id: str) -> bool:
        found = until(lambda: coordinator(cluster, leader, GROUP, group_id), "the group has a coordinator")
        return bool(found != controller)

    group_id = next(name for name in (f"g{number}" for number in range(200)) if coordinated_elsewhere(name))
    first = coordinator(cluster, leader, GROUP, group_id)
    assert first is not None
    joined = until(lambda: ask_coordinator(cluster, first, joining(group_id), 0), "it serves")
    assert joined.error_code == 0, joined
    epoch = joined.member_epoch

    def given() -> Any:
        nonlocal epoch
        answer = ask(cluster, first, Request(group_id, MEMBER, epoch), 0)
        assert answer.error_code == 0, answer
        epoch = answer.member_epoch
        return answer.active_tasks or None

    tasks = until(given, "the changelog is there")
    assert [(row.subtopology_id, row.partitions) for row in tasks] == [("0", [0, 1])]
    made = ask(cluster, first, MetadataRequest([MetadataRequest.MetadataRequestTopic(name=CHANGELOG)]), 9)
    assert [len(row.replica_nodes) for row in made.topics[0].partitions] == [3, 3]
    cluster.wait_until_in_sync(60)
    cluster.brokers[first].kill()
    other = next(each for each in ids if each != first)

    def went_on() -> Any:
        found = coordinator(cluster, other, GROUP, group_id)
        if found in (None, first):
            return None
        answer = ask_coordinator(cluster, found, Request(group_id, MEMBER, epoch), 0)
        return None if answer is None else (found, answer)

    second, answer = until(went_on, "the group has another coordinator")
    assert (answer.error_code, answer.member_epoch, answer.active_tasks) == (0, epoch, None)
    (group,) = ask(cluster, second, StreamsGroupDescribeRequest([group_id]), 0).groups
    assert (group.error_code, group.group_state) == (0, "Stable")
    (member,) = group.members
    assert [row.partitions for row in member.assignment.active_tasks] == [[0, 1]]
