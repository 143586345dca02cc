"""The output of `kcompat topics --describe`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kcompat.admin import topics
from kcompat.admin.configs import describe_configs
from kcompat.admin.errors import JavaError
from kcompat.commands.output import print_json
from kcompat.commands.topic_names import insist
from kcompat.protocol.constants import ConfigResourceType, ConfigSource
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.uuids import ZERO_UUID, uuid_from_text, uuid_to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.admin.client import AdminClient
    from kcompat.admin.configs import ConfigEntry
    from kcompat.admin.topics import PartitionDescription, Reassignment, TopicDescription
    from kcompat.commands.options import Options

REPORTS = (
    "unavailable-partitions",
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
)


def describe(
    admin: AdminClient, options: Options, select: Callable[[AdminClient, Options], list[str]]
) -> None:
    """Print the topics that the options select; `select` returns the names that `--topic` stands for."""
    found = _described(admin, options, select)
    configs = describe_configs(admin, [(ConfigResourceType.TOPIC, each.name) for each in found])
    live = frozenset(admin.cluster(refresh=True).nodes)
    moves = _reassignments(admin, found)
    rows = [_Row(each, configs[ConfigResourceType.TOPIC, each.name], moves, live) for each in found]
    reports = [report for report in REPORTS if options.has(report)]
    with_overrides = options.has("topics-with-overrides")
    if with_overrides:
        rows = [row for row in rows if row.overrides]
    if options.json:
        shown = [row.as_json(reports) for row in rows]
        print_json([topic for topic in shown if topic["partitions"] or not reports])
        return
    for row in rows:
        if not reports:
            sys.stdout.write(row.summary())
        if not with_overrides:
            sys.stdout.write("".join(map(row.line, row.selected(reports))))


def _described(
    admin: AdminClient, options: Options, select: Callable[[AdminClient, Options], list[str]]
) -> list[TopicDescription]:
    wanted = _wanted_id(options)
    if wanted is not None:
        name = topics.topic_ids(admin).get(wanted)
        if name is None and not options.has("if-exists"):
            message = f"TopicId '{uuid_to_text(wanted)}' does not exist as expected"
            raise JavaError("IllegalArgumentException", message, package="java.lang.")
        return [] if name is None else topics.describe_by_metadata(admin, [name])
    names = select(admin, options)
    insist(names, options)
    limit = options.number("partition-size-limit-per-response", 2000)
    return topics.describe_topics(admin, names, limit) if names else []


def _wanted_id(options: Options) -> bytes | None:
    text = options.value("topic-id")
    if text is None:
        return None
    try:
        wanted = uuid_from_text(text)
    except ValueError:
        message = f"Input string `{text}` decoded as another number of bytes than the 16 of a topic id."
        raise JavaError("IllegalArgumentException", message, package="java.lang.") from None
    return None if wanted == ZERO_UUID else wanted


def _reassignments(
    admin: AdminClient, found: list[TopicDescription]
) -> Mapping[tuple[str, int], Reassignment]:
    """Return the reassignments under way; none if this client may not know them."""
    try:
        return topics.reassignments(
            admin, {each.name: [row.index for row in each.partitions] for each in found}
        )
    except JavaError as error:
        if error.code in (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
            return {}
        raise


class _Row:
    """One topic as it is printed."""

    def __init__(
        self,
        topic: TopicDescription,
        configs: list[ConfigEntry],
        moves: Mapping[tuple[str, int], Reassignment],
        live: frozenset[int],
    ) -> None:
        self._topic = topic
        self._moves = moves
        self._live = live
        default = ConfigSource.DEFAULT_CONFIG
        self.overrides = {
            each.name: each.value
            for each in configs
            if each.config_source != default and not (each.config_source < 0 and each.is_default)
        }
        self._min_isr = next(
            (int(each.value or 1) for each in configs if each.name == "min.insync.replicas"), 1
        )

    def summary(self) -> str:
        topic = self._topic
        text = f"Topic: {topic.name}"
        if topic.topic_id != ZERO_UUID:
            text += f"\tTopicId: {uuid_to_text(topic.topic_id)}"
        configs = ",".join(f"{name}={value}" for name, value in self.overrides.items())
        return (
            f"{text}\tPartitionCount: {len(topic.partitions)}"
            f"\tReplicationFactor: {self._replication(topic.partitions[0])}\tConfigs: {configs}\n"
        )

    def line(self, partition: PartitionDescription) -> str:
        move = self._moves.get((self._topic.name, partition.index))
        text = (
            f"\tTopic: {self._topic.name}\tPartition: {partition.index}"
            f"\tLeader: {partition.leader if partition.leader >= 0 else 'none'}"
            f"\tReplicas: {_joined(partition.replicas)}\tIsr: {_joined(partition.isr)}"
        )
        if move is not None:
            text += f"\tAdding Replicas: {_joined(move.adding)}\tRemoving Replicas: {_joined(move.removing)}"
        return f"{text}\tElr: {_or_na(partition.elr)}\tLastKnownElr: {_or_na(partition.last_known_elr)}\n"

    def selected(self, reports: list[str]) -> list[PartitionDescription]:
        """Return the partitions that belong to the requested report, such as under-replicated ones; all
        without a report.
        """
        return [
            each
            for each in self._topic.partitions
            if not reports or any(self._belongs(each, report) for report in reports)
        ]

    def _belongs(self, partition: PartitionDescription, report: str) -> bool:
        match report:
            case "unavailable-partitions":
                return partition.leader not in self._live
            case "under-replicated-partitions":
                return self._replication(partition) > len(partition.isr)
            case "under-min-isr-partitions":
                return partition.leader < 0 or len(partition.isr) < self._min_isr
            case _:
                return len(partition.isr) == self._min_isr

    def _replication(self, partition: PartitionDescription) -> int:
        """Return the number of replicas, without those that a reassignment adds."""
        move = self._moves.get((self._topic.name, partition.index))
        if move is None or not {*move.adding, *move.removing}.intersection(partition.replicas):
            return len(partition.replicas)
        return len(move.replicas) - len(move.adding)

    def as_json(self, reports: list[str]) -> dict[str, Any]:
        topic = self._topic
        return {
            "topic": topic.name,
            "topicId": None if topic.topic_id == ZERO_UUID else uuid_to_text(topic.topic_id),
            "internal": topic.is_internal,
            "partitionCount": len(topic.partitions),
            "replicationFactor": self._replication(topic.partitions[0]),
            "configs": self.overrides,
            "partitions": [self._partition_as_json(each) for each in self.selected(reports)],
        }

    def _partition_as_json(self, partition: PartitionDescription) -> dict[str, Any]:
        move = self._moves.get((self._topic.name, partition.index))
        shown: dict[str, Any] = {
            "partition": partition.index,
            "leader": partition.leader if partition.leader >= 0 else None,
            "replicas": partition.replicas,
            "isr": partition.isr,
            "elr": partition.elr,
            "lastKnownElr": partition.last_known_elr,
        }
        if move is not None:
            shown |= {"addingReplicas": move.adding, "removingReplicas": move.removing}
        return shown


def _joined(ids: list[int]) -> str:
    return ",".join(map(str, ids))


def _or_na(ids: list[int] | None) -> str:
    return "N/A" if ids is None else _joined(ids)
