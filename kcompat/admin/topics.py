"""Topics as Java's `Admin` lists, describes, creates, extends and deletes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.admin.client import ANY, CONTROLLER
from kcompat.admin.connection import Versioned
from kcompat.admin.errors import JavaError, error_of_code, raise_for
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcompat.admin.client import AdminClient


class PartitionDescription(Struct):
    """One partition. `elr` and `last_known_elr` are None where the broker does not tell them."""

    index: int
    leader: int
    """Broker id; -1 for none."""
    replicas: list[int]
    isr: list[int]
    elr: list[int] | None = None
    last_known_elr: list[int] | None = None


class TopicDescription(Struct):
    """One topic with its partitions in order."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: list[PartitionDescription]


class Reassignment(Struct, frozen=True):
    """A reassignment of a partition that is under way."""

    replicas: list[int]
    adding: list[int]
    removing: list[int]


def list_topics(admin: AdminClient, *, internal: bool = True) -> list[str]:
    """Return the names of all topics in order; without `internal`, Kafka's internal topics are left out."""
    found = admin.topics(None, name="listTopics").topics
    return sorted(each.name or "" for each in found if internal or not each.is_internal)


def describe_topics(admin: AdminClient, names: Sequence[str], page: int = 2000) -> list[TopicDescription]:
    """Describe topics, sorted by name, at most `page` partitions a request.

    Raises:
        JavaError: a topic is not there, or another error of one of them.
    """
    try:
        return _by_pages(admin, sorted(names), page)
    except JavaError as error:
        if error.code is not ErrorCode.UNSUPPORTED_VERSION:
            raise
    return describe_by_metadata(admin, names)


def _by_pages(admin: AdminClient, names: Sequence[str], page: int) -> list[TopicDescription]:
    """Describe topics by DescribeTopicPartitions (KIP-966), which tells eligible leader replicas."""
    from kcompat.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest

    topics = [DescribeTopicPartitionsRequest.TopicRequest(name) for name in names]
    found: dict[str, TopicDescription] = {}
    cursor = None
    while True:
        request = DescribeTopicPartitionsRequest(topics, page, cursor)
        response = admin.ask(request, ANY, name="describeTopicPartitions")
        for topic in response.topics:
            raise_for(topic.error_code)
            described = found.setdefault(
                topic.name, TopicDescription(topic.name, topic.topic_id, topic.is_internal, [])
            )
            described.partitions += [
                PartitionDescription(
                    each.partition_index,
                    each.leader_id,
                    each.replica_nodes,
                    each.isr_nodes,
                    each.eligible_leader_replicas,
                    each.last_known_elr,
                )
                for each in topic.partitions
            ]
        if response.next_cursor is None:
            return list(found.values())
        next_ = response.next_cursor
        cursor = DescribeTopicPartitionsRequest.Cursor(next_.topic_name, next_.partition_index)
        topics = [each for each in topics if each.name >= next_.topic_name]


def describe_by_metadata(admin: AdminClient, names: Iterable[str]) -> list[TopicDescription]:
    """Describe topics by Metadata, which all brokers serve. Raises as `describe_topics`."""
    found = []
    for topic in admin.topics(names).topics:
        raise_for(topic.error_code)
        partitions = [
            PartitionDescription(each.partition_index, each.leader_id, each.replica_nodes, each.isr_nodes)
            for each in sorted(topic.partitions, key=lambda each: each.partition_index)
        ]
        found.append(TopicDescription(topic.name or "", topic.topic_id, topic.is_internal, partitions))
    return sorted(found, key=lambda each: each.name)


def topic_ids(admin: AdminClient) -> dict[bytes, str]:
    """Return the names of topics by their ids."""
    topics = admin.topics(None, name="listTopics").topics
    return {each.topic_id: each.name or "" for each in topics if each.topic_id != ZERO_UUID}


def create_topic(
    admin: AdminClient,
    name: str,
    partitions: int,
    replication: int,
    assignments: Mapping[int, Sequence[int]],
    configs: Mapping[str, str],
) -> None:
    """Create a topic; -1 partitions or replicas stand for the default of the cluster. Raises JavaError."""
    from kcompat.protocol.messages.create_topics import CreateTopicsRequest

    topic = CreateTopicsRequest.CreatableTopic(
        name,
        partitions,
        replication,
        [
            CreateTopicsRequest.CreatableReplicaAssignment(index, list(ids))
            for index, ids in assignments.items()
        ],
        [CreateTopicsRequest.CreatableTopicConfig(key, value) for key, value in configs.items()],
    )
    request = CreateTopicsRequest([topic], timeout_ms=_timeout_ms(admin))
    response = admin.ask(request, CONTROLLER, name="createTopics")
    for row in response.topics:
        raise_for(row.error_code, row.error_message)


def create_partitions(
    admin: AdminClient, counts: Mapping[str, int], assignments: Mapping[str, Sequence[Sequence[int]]]
) -> None:
    """Extend topics to numbers of partitions; `assignments` has the replicas of the new ones, by topic.

    Raises:
        JavaError: the error of the first topic that has one; the others are extended.
    """
    from kcompat.protocol.messages.create_partitions import CreatePartitionsRequest

    topics = []
    for name, count in counts.items():
        new = assignments.get(name)
        placed = None
        if new is not None:
            placed = [CreatePartitionsRequest.CreatePartitionsAssignment(list(ids)) for ids in new]
        topics.append(CreatePartitionsRequest.CreatePartitionsTopic(name, count, placed))
    request = CreatePartitionsRequest(topics, _timeout_ms(admin))
    response = admin.ask(request, CONTROLLER, name="createPartitions")
    for row in response.results:
        raise_for(row.error_code, row.error_message)


def delete_topics(admin: AdminClient, names: Sequence[str]) -> None:
    """Delete topics.

    Raises:
        JavaError: the error of the first topic that has one; the others are deleted.
    """
    from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest

    def make(version: int) -> DeleteTopicsRequest:
        if version >= 6:  # KIP-516: by name or by id
            states = [DeleteTopicsRequest.DeleteTopicState(name) for name in names]
            return DeleteTopicsRequest(states, timeout_ms=_timeout_ms(admin))
        return DeleteTopicsRequest(topic_names=list(names), timeout_ms=_timeout_ms(admin))

    response = admin.ask(Versioned(ApiKey.DELETE_TOPICS, make), CONTROLLER, name="deleteTopics")
    for row in response.responses:
        raise_for(row.error_code, row.error_message)


def reassignments(
    admin: AdminClient, partitions: Mapping[str, Sequence[int]] | None
) -> dict[tuple[str, int], Reassignment]:
    """Return the reassignments under way: of partitions by topic, or of all. Raises JavaError."""
    from kcompat.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

    topics = None
    if partitions is not None:
        topics = [
            ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(name, list(indexes))
            for name, indexes in partitions.items()
        ]
    request = ListPartitionReassignmentsRequest(_timeout_ms(admin), topics)
    response = admin.ask(request, CONTROLLER, name="listPartitionReassignments")
    if response.error_code:
        raise error_of_code(response.error_code, response.error_message)
    return {
        (topic.name, each.partition_index): Reassignment(
            each.replicas, each.adding_replicas, each.removing_replicas
        )
        for topic in response.topics
        for each in topic.partitions
    }


def _timeout_ms(admin: AdminClient) -> int:
    """Return the time that a broker may take for a change."""
    return admin.settings.milliseconds("request.timeout.ms")
