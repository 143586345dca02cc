"""Compaction of topics, by the control port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.instrumentation.control.topics import insist_on_topic

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control
    from kcompat.instrumentation.control.topics import WhichTopic


class CompactedLog(Struct):
    """The log of one partition on one broker, before and after its compaction."""

    broker: int
    partition: int
    bytes_before: int
    bytes_after: int
    problem: str | None


class CompactedLogs(Struct):
    """The logs of one topic after their compaction."""

    logs: list[CompactedLog]


async def compact_topic(control: Control, which: WhichTopic) -> CompactedLogs:
    """Compact a topic now, whatever its dirty ratio; the answer is sent when the compaction is complete."""
    insist_on_topic(control, which.topic)
    return CompactedLogs(
        [
            CompactedLog(
                node.parts.cluster.broker_id,
                each.partition,
                each.bytes_before,
                each.bytes_after,
                each.problem,
            )
            for node in control.nodes
            for each in await node.compact(which.topic)
        ]
    )
