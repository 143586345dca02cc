"""The replicas in sync with a leader: the stored ISR, and a proposed change of it (KIP-497). Pure.

A proposal without an answer may have been stored or not. While it is pending, the high watermark waits for
the *maximal* ISR: for the replica that is to join, and still for those that are to leave. Kafka's
counterparts: `CommittedPartitionState`, `PendingExpandIsr` and `PendingShrinkIsr`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from kcompat.replication.role import ReplicaIdentity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.control_requests import Role
    from kcompat.protocol.errors import ErrorCode

NOT_KNOWN: Final[Mapping[int, int]] = MappingProxyType({})


class Committed(Struct, frozen=True, eq=False, gc=False):
    """The ISR as stored; no change is under way."""

    isr: tuple[int, ...]

    @property
    def maximal(self) -> tuple[int, ...]:
        """Replicas that the high watermark waits for."""
        return self.isr


class PendingExpand(Struct, frozen=True, eq=False):
    """ISR while the controller is asked to add `newcomer`."""

    before: Committed
    newcomer: int
    registrations: Mapping[int, int] = NOT_KNOWN
    """Broker epochs under which the other members had fetched when the change was proposed.

    A broker that has restarted since is not the one that came into sync, however late the last fetch of its
    former registration arrived (KIP-903).
    """

    @property
    def isr(self) -> tuple[int, ...]:
        """The ISR as stored, as far as this leader knows."""
        return self.before.isr

    @property
    def proposed(self) -> tuple[int, ...]:
        """The ISR that was asked for."""
        return (*self.before.isr, self.newcomer)

    @property
    def maximal(self) -> tuple[int, ...]:
        """Replicas that the high watermark waits for, the newcomer included, which is only stricter."""
        return self.proposed


class PendingShrink(Struct, frozen=True, eq=False):
    """ISR while the controller is asked to remove `leaving`."""

    before: Committed
    leaving: tuple[int, ...]
    registrations: Mapping[int, int] = NOT_KNOWN
    """Broker epochs under which the members have fetched, as in `PendingExpand`."""

    @property
    def isr(self) -> tuple[int, ...]:
        """The ISR as stored, as far as this leader knows."""
        return self.before.isr

    @property
    def proposed(self) -> tuple[int, ...]:
        """The ISR that was asked for."""
        return tuple(member for member in self.before.isr if member not in self.leaving)

    @property
    def maximal(self) -> tuple[int, ...]:
        """Replicas that the high watermark waits for, with those that leave: they may still be elected."""
        return self.before.isr


Pending = PendingExpand | PendingShrink
IsrState = Committed | PendingExpand | PendingShrink


class IsrOwner(ReplicaIdentity, Protocol):
    """Partition that has proposed another ISR, and is told the outcome."""

    @property
    def role(self) -> Role:
        """The current role."""

    def isr_accepted(
        self, pending: Pending, leader_epoch: int, partition_epoch: int, isr: tuple[int, ...]
    ) -> None:
        """Take over an ISR that the controller stored, whether it is the proposed one or not."""

    def isr_refused(self, pending: Pending, error: ErrorCode) -> bool:
        """Handle the refusal of a proposed ISR; return True if it has to be proposed again."""
