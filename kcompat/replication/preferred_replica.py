"""The replica that a consumer should read from: one in its own rack (KIP-392).

Kafka's counterparts: `ReplicaManager.findPreferredReadReplica` and `RackAwareReplicaSelector`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.replication.reading import NO_REPLICA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.image import BrokerInfo
    from kcompat.replication.leading.leader import Leader

RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""Value of `replica.selector.class` that directs consumers to replicas in their rack."""


class SameRack(Struct, frozen=True):
    """Choice of a replica for a consumer in `rack` that connects to `listener`, by the broker `broker_id`."""

    rack: str
    listener: str
    broker_id: int
    brokers: Mapping[int, BrokerInfo]

    def choose(self, leader: Leader, offset: int) -> int:
        """Return the in-sync replica in the consumer's rack that has the offset and the most records."""
        own = self.brokers.get(self.broker_id)
        if own is not None and own.rack == self.rack:
            return NO_REPLICA
        near = [
            remote
            for remote in leader.remotes.values()
            if remote.log_start_offset <= offset <= remote.log_end_offset
            and remote.id in leader.state.isr
            and self._is_in_rack(remote.id)
        ]
        if not near:
            return NO_REPLICA
        return max(near, key=lambda each: (each.log_end_offset, each.last_caught_up_ms, each.id)).id

    def _is_in_rack(self, broker_id: int) -> bool:
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.rack == self.rack and self.listener in broker.endpoints
