"""The Stat of a node, as clients get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.zookeeper_server.records import StatRecord

if TYPE_CHECKING:
    from kcompat.store.tree import StoredNode


def stat_of(node: StoredNode) -> StatRecord:
    """ZooKeeper's `StatRecord` of a node."""
    return StatRecord(
        node.czxid,
        node.mzxid,
        node.ctime_ms,
        node.mtime_ms,
        node.version,
        node.cversion,
        node.aversion,
        node.ephemeral_owner,
        len(node.data or b""),
        len(node.children),
        node.pzxid,
    )
