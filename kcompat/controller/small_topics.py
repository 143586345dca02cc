"""Internal topics that have fewer replicas than they could have."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kcompat.controller.internal_topics import FACTOR_KEYS

if TYPE_CHECKING:
    from kcompat.config.broker import BrokerConfig
    from kcompat.controller.state import ControllerState

_log = logging.getLogger(__name__)


def warn_of_small_topics(state: ControllerState, config: BrokerConfig) -> None:
    """Log each internal topic that has fewer replicas than its replication factor says and the number of
    brokers that are up allows, with the command that gives it more.

    Such a topic was made while the factor was smaller, or by a version of kcompat that gave it as many
    replicas as brokers were up.
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
