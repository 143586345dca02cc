"""A member of a classic group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kcompat.group.requests import JoinAnswer, SyncAnswer
    from kcompat.promise import Promise


class ClassicMember(Struct, eq=False):
    """A member, what it brought when it joined, and its parked requests.

    `is_new` lasts until its first join is answered: it cannot heartbeat yet, so a fixed limit bounds its
    wait, not its session. `assignment` is the last one written, empty once it is out of date.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    is_new: bool = False
    join: Promise[JoinAnswer] | None = None
    sync: Promise[SyncAnswer] | None = None

    @property
    def is_static(self) -> bool:
        """Whether the member has an instance id and may be away for its session timeout (KIP-345)."""
        return self.instance_id is not None

    def take_sync(self) -> Promise[SyncAnswer] | None:
        """Its parked sync, to be answered."""
        promise, self.sync = self.sync, None
        return promise

    @property
    def protocol_names(self) -> set[str]:
        """The protocols it supports."""
        return {name for name, _ in self.protocols}

    def metadata(self, protocol: str) -> bytes:
        """Return the member's metadata for a protocol: the first if named twice, empty if not named."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        """Return the member's first preference among the candidates."""
        return next(name for name, _ in self.protocols if name in candidates)
