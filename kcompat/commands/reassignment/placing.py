"""Current replicas of partitions, and proposals of other replicas (`--generate`)."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING

from kcompat.admin.errors import JavaError
from kcompat.admin.topics import describe_topics
from kcompat.cluster.placement import PlacementError, place_replicas
from kcompat.commands.json_files import (
    command_failed,
    duplicates,
    operation_failed,
    parse_topics,
    read_text,
    write_reassignment,
)
from kcompat.config.java_text import parse_integer
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcompat.admin.client import AdminClient
    from kcompat.commands.options import Options
    from kcompat.topics import TopicPartition

    Replicas = dict[TopicPartition, list[int]]


def name_of(partition: TopicPartition) -> str:
    """Return a partition as Kafka's commands print it, such as `orders-0`."""
    topic, index = partition
    return f"{topic}-{index}"


def _replicas_of_topics(admin: AdminClient, topics: Iterable[str]) -> Replicas:
    """Return the replicas of all partitions of topics. Raises JavaError for a topic that is not there."""
    found: Replicas = {}
    for name in sorted(set(topics)):
        try:
            (topic,) = describe_topics(admin, [name])
        except JavaError as error:
            if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            raise _execution_error(JavaError(error.name, f"Topic {name} not found.")) from error
        found |= {(name, each.index): each.replicas for each in topic.partitions}
    return found


def _execution_error(error: JavaError) -> JavaError:
    """Return an error as Java's futures report it: by its class and its message."""
    return JavaError("ExecutionException", error.logged(), package="java.util.concurrent.")


def current_replicas(admin: AdminClient, partitions: Iterable[TopicPartition]) -> Replicas:
    """Return the replicas of partitions. Raises JavaError for a partition that does not exist."""
    wanted = set(partitions)
    found = _replicas_of_topics(admin, (topic for topic, _ in wanted))
    if missing := wanted - found.keys():
        names = ", ".join(map(name_of, sorted(missing)))
        error = JavaError("UnknownTopicOrPartitionException", f"Unable to find partition: {names}")
        raise _execution_error(error)
    return {each: found[each] for each in wanted}


def generate(admin: AdminClient, options: Options) -> None:
    """Print the present replicas of topics and a proposal. Raises JavaError."""
    brokers = []
    for text in options.value("broker-list").split(","):
        try:
            brokers.append(parse_integer(text, 32))
        except ValueError:
            raise JavaError(
                "NumberFormatException", f'For input string: "{text}"', package="java.lang."
            ) from None
    if twice := duplicates(brokers):
        raise command_failed(f"Broker list contains duplicate entries: {twice}")
    topics = parse_topics(read_text(options.value("topics-to-move-json-file")))
    if names := duplicates(topics):
        raise command_failed(f"List of topics to reassign contains duplicate entries: [{', '.join(names)}]")
    current = _replicas_of_topics(admin, topics)
    racks = _racks(admin, brokers, is_aware=not options.has("disable-rack-aware"))
    proposed: Replicas = {}
    for topic in sorted(set(topics)):
        replicas = [current[each] for each in sorted(current) if each[0] == topic]
        proposed |= _placed(topic, len(replicas), len(replicas[0]), racks)
    if options.json:
        sys.stdout.write(write_reassignment(proposed) + "\n")
        return
    sys.stdout.write(f"Current partition replica assignment\n{write_reassignment(current)}\n\n")
    sys.stdout.write(f"Proposed partition reassignment configuration\n{write_reassignment(proposed)}\n")


def _racks(admin: AdminClient, brokers: Sequence[int], *, is_aware: bool) -> dict[int, str | None]:
    nodes = admin.cluster().nodes
    racks = {each: nodes[each].rack if is_aware else None for each in brokers if each in nodes}
    if len({rack is None for rack in racks.values()}) > 1:
        raise operation_failed(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    return racks


def _placed(topic: str, partitions: int, factor: int, racks: dict[int, str | None]) -> Replicas:
    if factor > len(racks):
        raise JavaError(
            "InvalidReplicationFactorException",
            f"Replication factor: {factor} larger than available brokers: {len(racks)}.",
        )
    start, shift = (random.randrange(len(racks)) for _ in range(2))  # noqa: S311
    try:
        placed = place_replicas(racks, partitions, factor, start=start, shift=shift)
    except PlacementError as error:
        raise operation_failed(str(error)) from None
    return {(topic, index): list(replicas) for index, replicas in enumerate(placed)}
