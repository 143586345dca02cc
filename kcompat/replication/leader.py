"""The leader of a partition, without its log: who is in sync, and how much of the log is committed.

A pure machine. The high watermark is the smallest log end over the maximal ISR: whoever is in sync or about
to be. It never falls, and does not rise while fewer are in sync than `min.insync.replicas` asks for
(KIP-966).

The one log end that is known here is that of this broker. So the high watermark of a leader that is in sync
with nobody else is its own log end; with others in sync it stays where it is.

Kafka's counterpart: the leader's half of `Partition`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.cluster.news import Role


class Leader:
    """One broker as the leader of one partition for one leader epoch; offsets as in the log."""

    __slots__ = (
        "_advances",
        "_broker_id",
        "_min_insync_replicas",
        "_role",
        "epoch",
        "epoch_start_offset",
        "has_quorum",
        "high_watermark",
    )

    def __init__(
        self,
        broker_id: int,
        role: Role,
        *,
        min_insync_replicas: int,
        log_end_offset: int,
        high_watermark: int,
    ) -> None:
        """A new leader: its epoch begins at the end of its log."""
        self._broker_id = broker_id
        self._min_insync_replicas = min_insync_replicas
        self.epoch = role.leader_epoch
        self.epoch_start_offset = log_end_offset
        self.high_watermark = high_watermark
        self.has_quorum = False
        """Whether as many are in sync as acks=all needs."""
        self._advances = False
        self.change(role)

    def change(self, role: Role) -> None:
        """Take a changed ISR, in the same leader epoch."""
        assert (role.leader, role.leader_epoch) == (self._broker_id, self.epoch), (
            "another epoch is another leader"
        )
        self._role = role
        self.require_in_sync(self._min_insync_replicas)

    def require_in_sync(self, min_insync_replicas: int) -> None:
        """Obey `min.insync.replicas`, which never asks for more replicas than there are."""
        self._min_insync_replicas = min_insync_replicas
        isr = self._role.isr
        self.has_quorum = len(isr) >= min(min_insync_replicas, len(self._role.replicas))
        self._advances = self.has_quorum and isr == (self._broker_id,)

    def advance(self, log_end_offset: int) -> bool:
        """Note how far the leader's own log is, as far as it may be shown; True if that raised the high
        watermark.
        """
        if log_end_offset > self.high_watermark and self._advances:
            self.high_watermark = log_end_offset
            return True
        return False

    def committed(self, required_offset: int) -> ErrorCode | None:
        """Whether everything below `required_offset` is on every replica in sync: a final answer, or None for
        "not yet".
        """
        if self.high_watermark < required_offset:
            return None
        return ErrorCode.NONE if self.has_quorum else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    @property
    def knows_latest_offset(self) -> bool:
        """Whether the high watermark has come to where the epoch began: before that, it may be behind what
        an earlier leader has shown (KIP-207).
        """
        return self.high_watermark >= self.epoch_start_offset

    def check_invariants(self, log_end_offset: int) -> None:
        """Assert that the high watermark lies in the log, and moves only with enough replicas in sync."""
        assert 0 <= self.high_watermark <= log_end_offset
        assert self.has_quorum or not self._advances
        assert self._broker_id == self._role.leader
