"""Topics that nobody created by hand: auto-created ones and Kafka's internal two. Answers to
`AutoTopicCreationManager`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from kcompat.replication.controller.values import TopicSpec

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP_METADATA_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"


class _Config(Protocol):
    def get(self, name: str, /) -> Any: ...


def spec_of_automatic_topic(name: str, config: _Config, live_brokers: int) -> TopicSpec:
    """How the broker's configuration says to make a topic; an internal one has at most as many replicas as
    there are brokers.
    """
    configure = _INTERNAL.get(name)
    return TopicSpec(name) if configure is None else configure(config, live_brokers)


def _offsets(config: _Config, live_brokers: int) -> TopicSpec:
    return TopicSpec(
        GROUP_METADATA_TOPIC,
        config.get("offsets.topic.num.partitions"),
        min(config.get("offsets.topic.replication.factor"), live_brokers),
        configs=(
            ("cleanup.policy", "compact"),
            ("segment.bytes", str(config.get("offsets.topic.segment.bytes"))),
            ("compression.type", "producer"),
        ),
    )


def _transactions(config: _Config, live_brokers: int) -> TopicSpec:
    return TopicSpec(
        TRANSACTION_STATE_TOPIC,
        config.get("transaction.state.log.num.partitions"),
        min(config.get("transaction.state.log.replication.factor"), live_brokers),
        configs=(
            ("unclean.leader.election.enable", "false"),
            ("compression.type", "uncompressed"),
            ("cleanup.policy", "compact"),
            (
                "min.insync.replicas",
                str(min(config.get("transaction.state.log.min.isr"), live_brokers)),
            ),
            ("segment.bytes", str(config.get("transaction.state.log.segment.bytes"))),
        ),
    )


_INTERNAL: dict[str, Callable[[_Config, int], TopicSpec]] = {
    GROUP_METADATA_TOPIC: _offsets,
    TRANSACTION_STATE_TOPIC: _transactions,
}
