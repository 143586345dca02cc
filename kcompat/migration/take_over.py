"""Taking over the metadata of a Kafka broker in ZooKeeper mode: the nodes that are copied to the store.

The counterpart of `hand_over`, whose checks of the directories this module uses too. ZooKeeper is read from
the root down; this module decides which children are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.cluster import znodes
from kcompat.migration.hand_over import NOTIFICATIONS, HandOverRefusedError, RequiredNodes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TAKEN = frozenset(
    (
        "admin",
        "brokers",
        "cluster",
        "config",
        "controller_epoch",
        "delegation_token",
        "isr_change_notification",
        "kafka-acl",
        "kafka-acl-extended",
        "latest_producer_id_block",
        "log_dir_event_notification",
    )
)
"""Names of the nodes that Kafka keeps below its root; other nodes, such as those of old consumers, are not
copied.
"""


class ReadNode(Struct, frozen=True):
    """A node of ZooKeeper with the names of its children."""

    data: bytes
    children: Sequence[str]


def to_read_below(path: str, node: ReadNode) -> list[str]:
    """Return the names of a node's children to read next; the path of the root is empty."""
    if f"{path}/" in NOTIFICATIONS:
        return []
    return [f"{path}/{name}" for name in sorted(node.children) if path or name in TAKEN]


def registration_from(nodes: Mapping[str, ReadNode]) -> RequiredNodes:
    """Return the metadata for the store from the ZooKeeper nodes that `to_read_below` selected.

    Raises HandOverRefusedError if they do not belong to a cluster whose brokers are all stopped.
    """
    if znodes.CLUSTER_ID not in nodes:
        raise HandOverRefusedError("no Kafka has kept its metadata there")
    if running := nodes[znodes.BROKER_IDS].children if znodes.BROKER_IDS in nodes else ():
        raise HandOverRefusedError(
            f"broker {min(running)} is registered there: stop it, or wait until its end was noticed"
        )
    return RequiredNodes({path: node.data for path, node in sorted(nodes.items()) if path})
