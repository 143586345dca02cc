"""The topology of a group, matched with the present topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.group.kinds.streams.configuring import configure
from kcompat.group.kinds.streams.partition_counts import InvalidTopologyError
from kcompat.group.kinds.streams.records import RECORDS
from kcompat.group.modern.heartbeat import Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.streams.configured import ConfiguredTopology
    from kcompat.group.kinds.streams.members import StreamsMembers
    from kcompat.group.kinds.streams.topology import Topology


class Layout(Struct, frozen=True):
    """Topology matched with topics, and their hash; `is_news` says whether this request has looked the topics
    up.
    """

    configured: ConfiguredTopology
    metadata_hash: int
    is_news: bool


def take_topology(
    transition: GroupTransition, group: StreamsMembers, brought: Topology | None
) -> Topology | Refusal:
    """Return the topology of the group, which its first member sends.

    Other members must send the same topology, or an older one, which changes nothing.
    """
    known = group.topology
    if known is None and brought is None:
        return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
    if known is None:
        assert brought is not None
        RECORDS.write_topology(transition, group.group_id, brought)
        return brought
    if brought is not None and brought.epoch >= known.epoch and brought != known:
        return Refusal(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
    return known


def lay_out(transition: GroupTransition, group: StreamsMembers, topology: Topology) -> Layout | Refusal:
    """Match the topology with the topics again if they may have changed since the last time."""
    image, configured = transition.shard.image(), group.configured
    if configured is not None and group.topology is not None and not group.refresh_due(image):
        return Layout(configured, group.configured_hash, is_news=False)
    found_hash = transition.shard.hashes.of(topology.required_topics(), image)
    if configured is None or group.topology is None or found_hash != group.configured_hash:
        try:
            configured = group.configured = configure(topology, image)
        except InvalidTopologyError as error:
            return Refusal(ErrorCode.STREAMS_INVALID_TOPOLOGY, str(error))
        group.configured_hash = found_hash
    return Layout(configured, found_hash, is_news=True)
