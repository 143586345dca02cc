"""Checks of topics and partitions: leaders, replicas in sync, internal topics, times of records."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from kcompat.admin.configs import describe_configs
from kcompat.admin.errors import JavaError
from kcompat.admin.offsets import At, list_offsets
from kcompat.doctor.brokers import not_allowed
from kcompat.doctor.finding import error, some, warning
from kcompat.protocol.constants import ConfigResourceType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kcompat.admin.client import AdminClient, ClusterView
    from kcompat.admin.topics import TopicDescription
    from kcompat.doctor.finding import Finding

INTERNAL: Final = {"__consumer_offsets": "offsets.topic", "__transaction_state": "transaction.state.log"}
"""Internal topics, and the prefix of the keys that set how brokers create them."""

TOPICS_AT_A_TIME: Final = 500
"""Number of topics whose configs are read in one request."""


def look_at_partitions(topics: Sequence[TopicDescription]) -> Iterator[Finding]:
    """Yield partitions without a leader, or with replicas that are not in sync."""
    leaderless, late, internal = [], [], set()
    for topic in topics:
        for each in topic.partitions:
            name = f"{topic.name}-{each.index}"
            if each.leader < 0:
                leaderless.append(name)
                if topic.name in INTERNAL:
                    internal.add(topic.name)
            elif len(each.isr) < len(each.replicas):
                late.append(name)
    if leaderless:
        hint = ""
        if internal:
            hint = f" (with {some(sorted(internal))} groups or transactions stand still)"
        yield error(
            "partition-without-leader",
            f"{len(leaderless)} partitions have no leader, and cannot be written or read: "
            f"{some(leaderless)}{hint}",
            "Start the brokers that have their replicas.",
        )
    if late:
        yield warning(
            "under-replicated",
            f"{len(late)} partitions have replicas that are not in sync: {some(late)}",
            "Start the brokers that are down, or look into why they are late: disk, network, load.",
        )


def look_at_required_replicas(admin: AdminClient, topics: Sequence[TopicDescription]) -> Iterator[Finding]:
    """Yield partitions that refuse writes with acks=all, since fewer replicas are in sync than
    `min.insync.replicas`.
    """
    try:
        required = _required_replicas(admin, [topic.name for topic in topics])
    except JavaError as fault:
        yield not_allowed("the configs of topics", fault)
        return
    now = [
        f"{topic.name}-{each.index}"
        for topic in topics
        for each in topic.partitions
        if each.leader >= 0 and len(each.isr) < min(required[topic.name], len(each.replicas))
    ]
    if now:
        yield error(
            "too-few-replicas-in-sync",
            f"fewer replicas are in sync than min.insync.replicas: {some(now)} refuse batches with acks=all",
            "Start the brokers that are down.",
        )


def _required_replicas(admin: AdminClient, names: Sequence[str]) -> dict[str, int]:
    required: dict[str, int] = {}
    for at in range(0, len(names), TOPICS_AT_A_TIME):
        wanted = [(ConfigResourceType.TOPIC, name) for name in names[at : at + TOPICS_AT_A_TIME]]
        for (_, name), entries in describe_configs(admin, wanted).items():
            values = {each.name: each.value for each in entries}
            required[name] = int(values.get("min.insync.replicas") or 1)
    return {name: required.get(name, 1) for name in names}


def look_at_internal_topics(
    view: ClusterView, topics: Sequence[TopicDescription], configs: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield internal topics that cannot be created because too few brokers are live."""
    present = {topic.name for topic in topics}
    for name, prefix in INTERNAL.items():
        factor = int(configs.get(f"{prefix}.replication.factor") or 1)
        if name not in present and factor > len(view.nodes):
            yield error(
                "internal-topic-cannot-be-created",
                f"{name} does not exist yet, and is to have {factor} replicas where there are "
                f"{len(view.nodes)} brokers: groups or transactions wait for it forever",
                f"Set {prefix}.replication.factor={len(view.nodes)}, or start more brokers.",
            )


MOST_AHEAD_MS: Final = 5 * 60 * 1000
"""Milliseconds by which a record's timestamp may be later than the clock of this machine."""
MOST_PARTITIONS: Final = 200
"""Maximum number of partitions whose newest record is checked."""


def look_at_clocks(admin: AdminClient, topics: Sequence[TopicDescription]) -> Iterator[Finding]:
    """Yield partitions with records whose timestamps are in the future: the clock of a producer or a broker
    is fast, or the clock of this machine is slow.
    """
    led = [
        (topic.name, each.index)
        for topic in topics
        if not topic.is_internal
        for each in topic.partitions
        if each.leader >= 0
    ]
    try:
        found = list_offsets(admin, dict.fromkeys(led[:MOST_PARTITIONS], At.MAX_TIMESTAMP))
    except JavaError:
        return  # a broker before Kafka 3.0 does not know this question
    latest = time.time() * 1000 + MOST_AHEAD_MS
    ahead = [
        f"{topic}-{index}"
        for (topic, index), offset in found.items()
        if not isinstance(offset, JavaError) and offset.timestamp > latest
    ]
    if ahead:
        yield warning(
            "records-of-the-future",
            f"the newest records of {some(ahead)} are ahead of the clock of this machine",
            "Set the clocks of producers, brokers and this machine (NTP): retention by time goes by them.",
        )
