"""Consumer groups of KIP-848."""

from __future__ import annotations

from typing import TYPE_CHECKING

from admission.stage import OPEN_TOPIC, SHARED, UNKNOWN, Asker, scene
from differential.scenarios.consumer_groups import BEAT, DESCRIBE, going_on, joining

if TYPE_CHECKING:
    from kcompat.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse

CONFIG_OPERATIONS = 1 << 10 | 1 << 11
"""Kafka 4.3 counts the configuration of a group among what may be done to it."""


@scene(BEAT)
def consumer_group_heartbeat(play: Asker, version: int) -> None:
    for group in (play.name("open"), play.name("secret")):
        for topics in ([OPEN_TOPIC], list(SHARED), list(UNKNOWN), []):
            play.call(BEAT, version, **joining(group, subscribed_topic_names=topics))
        play.call(BEAT, version, **going_on(group, "m", -1))
    play.call(BEAT, version, **joining("", subscribed_topic_names=[]))


def _in_order(answer: ConsumerGroupDescribeResponse) -> None:
    """The topics of a member stand in the order of a hash table, or in ours."""
    for group in answer.groups:
        group.authorized_operations &= ~CONFIG_OPERATIONS
        for member in group.members:
            for assignment in (member.assignment, member.target_assignment):
                assignment.topic_partitions.sort(key=lambda row: row.topic_name)
                for row in assignment.topic_partitions:
                    row.topic_id = bytes(16)


@scene(DESCRIBE)
def consumer_group_describe(play: Asker, version: int) -> None:
    groups = [play.name(name) for name in ("open", "open-both", "secret")]
    for group, topics in zip(groups, ([OPEN_TOPIC], list(SHARED), [OPEN_TOPIC]), strict=True):
        play.do(BEAT, version, **joining(group, subscribed_topic_names=topics))
    asked = [*groups, "open-none", "secret-none"]
    play.call(DESCRIBE, version, trim=_in_order, group_ids=asked)
    play.call(DESCRIBE, version, trim=_in_order, group_ids=asked, include_authorized_operations=True)
