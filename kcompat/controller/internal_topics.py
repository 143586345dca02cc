"""Topics that brokers create for themselves: auto-created topics and Kafka's internal topics. Pure.

Kafka's counterpart: `AutoTopicCreationManager`. A topic is refused with INVALID_REPLICATION_FACTOR while
fewer brokers are live than its replication factor.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.controller.creation import CreateTopics
from kcompat.controller.state import Decision
from kcompat.controller.values import TopicSpec
from kcompat.logger_names import CONTROLLER
from kcompat.protocol.errors import ErrorCode
from kcompat.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from kcompat.config.broker import BrokerConfig
    from kcompat.controller.state import ControllerState
    from kcompat.controller.values import TopicResult

_log = logging.getLogger(CONTROLLER)

FACTOR_KEYS: Final = {
    CONSUMER_OFFSETS: "offsets.topic.replication.factor",
    TRANSACTION_STATE: "transaction.state.log.replication.factor",
    SHARE_GROUP_STATE: "share.coordinator.state.topic.replication.factor",
}
"""Config key of the replication factor, by internal topic."""


class EnsureTopics(Struct, frozen=True):
    """Event: create the topics in `names` that do not exist, as the broker's `config` specifies them."""

    names: Sequence[str]
    config: BrokerConfig
    random: Random

    def decide(self, state: ControllerState) -> Decision[dict[str, ErrorCode]]:
        """Create the topics as `CreateTopics` does, and return NONE for each that exists already."""
        specs = [spec_of_automatic_topic(name, self.config) for name in self.names]
        made = CreateTopics(specs, False, self.config, self.random).decide(state)
        return Decision(made.state, _errors(made.answer), made.writes, made.requests)

    def refused(self, error: ErrorCode) -> dict[str, ErrorCode]:
        """Return `error` for every topic of the request."""
        return dict.fromkeys(self.names, error)


def _errors(results: Iterable[TopicResult]) -> dict[str, ErrorCode]:
    exists = ErrorCode.TOPIC_ALREADY_EXISTS
    return {result.name: ErrorCode.NONE if result.error is exists else result.error for result in results}


def spec_of_automatic_topic(name: str, config: BrokerConfig) -> TopicSpec:
    """Return the partitions, replicas and configs with which a broker creates the topic `name` for itself."""
    if name == CONSUMER_OFFSETS:
        return _offsets(config)
    if name == TRANSACTION_STATE:
        return _transactions(config)
    if name == SHARE_GROUP_STATE:
        return _share_state(config)
    return TopicSpec(name)


def _offsets(config: BrokerConfig) -> TopicSpec:
    return TopicSpec(
        CONSUMER_OFFSETS,
        config.offsets_topic_num_partitions,
        config.integer(FACTOR_KEYS[CONSUMER_OFFSETS]),
        configs=(
            ("cleanup.policy", "compact"),
            ("segment.bytes", str(config.offsets_topic_segment_bytes)),
            ("compression.type", "producer"),
        ),
    )


def _transactions(config: BrokerConfig) -> TopicSpec:
    factor = config.integer(FACTOR_KEYS[TRANSACTION_STATE])
    return TopicSpec(
        TRANSACTION_STATE,
        config.integer("transaction.state.log.num.partitions"),
        factor,
        configs=(
            ("unclean.leader.election.enable", "false"),
            ("compression.type", "uncompressed"),
            ("cleanup.policy", "compact"),
            ("min.insync.replicas", str(min(config.integer("transaction.state.log.min.isr"), factor))),
            ("segment.bytes", str(config.integer("transaction.state.log.segment.bytes"))),
        ),
    )


def _share_state(config: BrokerConfig) -> TopicSpec:
    factor = config.integer(FACTOR_KEYS[SHARE_GROUP_STATE])
    min_isr = min(config.integer("share.coordinator.state.topic.min.isr"), factor)
    return TopicSpec(
        SHARE_GROUP_STATE,
        config.integer("share.coordinator.state.topic.num.partitions"),
        factor,
        configs=(
            ("cleanup.policy", "delete"),
            ("compression.type", "producer"),
            ("segment.bytes", str(config.integer("share.coordinator.state.topic.segment.bytes"))),
            ("min.insync.replicas", str(min_isr)),
            ("retention.ms", "-1"),
        ),
    )


def warn_of_small_topics(state: ControllerState, config: BrokerConfig) -> None:
    """Warn of each internal topic that has fewer replicas than its replication factor and the live brokers
    allow. The warning names the command that adds replicas.

    Such a topic was created while the factor was smaller, or by a version of kcompat that used as many
    replicas as brokers were live.
    """
    for name, key in FACTOR_KEYS.items():
        topic = state.topics.get(name)
        if topic is None:
            continue
        factor, possible = config.integer(key), len(state.brokers)
        replicas = min((len(partition.target) for partition in topic.partitions), default=factor)
        if replicas < min(factor, possible):
            _log.warning(
                "%s has partitions with %d of the %d replicas that %s says, and %d brokers are up. To give "
                "them more: kafka-reassign-partitions.sh --bootstrap-server BROKER --reassignment-json-file "
                "FILE --execute (docs/how-to/run-a-cluster.md says what the file has)",
                name, replicas, factor, key, possible,
            )  # fmt: skip
