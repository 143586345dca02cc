"""The nodes of a ZooKeeper, in a form in which those of two clusters can be compared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kazoo.client import KazooClient

Node = dict[str, Any]


def nodes(client: KazooClient, root: str, *ports: int) -> dict[str, Node]:
    """All nodes below a path, with what differs by nature left out: times, ids and the ports of brokers."""
    found: dict[str, Node] = {}

    def look(path: str) -> None:
        data, stat = client.get(root + path)
        acls, _ = client.get_acls(root + path)
        found[path or "/"] = {
            "payload": readable(data or b"", ports),
            "is_ephemeral": stat.ephemeralOwner != 0,
            "version": stat.version,
            "acl": [(acl.perms, "world" if acl.id.scheme == "world" else "broker") for acl in acls],
        }
        for name in client.get_children(root + path):
            look(f"{path}/{name}")

    look("")
    return found


def readable(data: bytes, ports: Sequence[int]) -> Any:
    """The payload, decoded where it is JSON; the first of `ports` is 9092 in it, the next 9093."""
    text = data.decode()
    for number, port in enumerate(ports):
        text = text.replace(str(port), str(9092 + number))
    try:
        payload = json.loads(text)
    except ValueError:
        return text
    if isinstance(payload, dict):
        for key in ("timestamp", "topic_id", "id"):
            if key in payload:
                payload[key] = type(payload[key]).__name__
    return payload
