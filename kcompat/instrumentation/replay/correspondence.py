"""The correspondence between the ids that the recorded broker handed out and those of another broker.

Both brokers number topics, producers, members and so on in their own way. The first time that a recorded id
is seen in an answer, it corresponds to the id at the same place in the other broker's answer.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Kind: TypeAlias = tuple[str, ...]
"""A kind of ids, with the scope in which they are unique."""

KINDS: Final = {
    "topic_id": "topic",
    "producer_id": "producer",
    "session_id": "session",
    "member_id": "member",
    "leader": "member",  # of the members of a classic group
    "generation_id": "generation",
    "generation_id_or_member_epoch": "generation",
    "node_id": "node",
    "leader_id": "node",
    "controller_id": "node",
    "broker_id": "node",
    "replica_nodes": "node",
    "isr_nodes": "node",
    "cluster_id": "cluster",
}
"""Kinds of ids, by the names of their fields."""
NO_ID: Final = (None, "", -1, "AAAAAAAAAAAAAAAAAAAAAA")
"""Values that stand for no id."""


def kind_of(field: str, scope: str) -> Kind | None:
    """Return the kind of the ids in a field; None if it holds something else. `scope` is the group of the
    request, since generations are counted per group.
    """
    kind = KINDS.get(field)
    if kind is None:
        return None
    return (kind, scope) if kind == "generation" else (kind,)


class Correspondence:
    """The ids of the other broker, by kind and recorded id."""

    def __init__(self) -> None:
        self._new: dict[tuple[Kind, Any], Any] = {}
        self._taken: set[tuple[Kind, Any]] = set()

    def translated(self, kind: Kind, recorded: Any) -> Any:
        """Return the other broker's id; the recorded one if none is known."""
        return self._new.get((kind, recorded), recorded)

    def knows(self, kind: Kind, recorded: Any) -> bool:
        """Return whether an id of the other broker is known."""
        return (kind, recorded) in self._new

    def is_known_new(self, kind: Kind, new: Any) -> bool:
        """Return whether an id of the other broker corresponds to a recorded one."""
        return (kind, new) in self._taken

    def agree(self, kind: Kind, recorded: Any, new: Any) -> bool:
        """Return whether two ids at the same place of both answers correspond; record that they do if neither
        was seen before.
        """
        if recorded in NO_ID or new in NO_ID or (kind[0] == "session" and 0 in (recorded, new)):
            return bool(recorded == new)
        if (kind, recorded) in self._new:
            return bool(self._new[kind, recorded] == new)
        if (kind, new) in self._taken:
            return False
        self._new[kind, recorded] = new
        self._taken.add((kind, new))
        return True
