"""The in-sync replicas of a partition: the stored ISR, and a proposed change of it (KIP-497). Pure.

A proposal without a response may or may not have been stored. While it is pending, the high watermark waits
for the *maximal* ISR, which includes both a replica that is to join and replicas that are to leave. Kafka's
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
    """The stored ISR, without a pending proposal."""

    isr: tuple[int, ...]

    @property
    def maximal(self) -> tuple[int, ...]:
        """Replicas that the high watermark waits for."""
        return self.isr


class PendingExpand(Struct, frozen=True, eq=False):
    """The ISR while a proposal to add `newcomer` is pending."""

    before: Committed
    newcomer: int
    registrations: Mapping[int, int] = NOT_KNOWN
    """Broker epochs of the registrations under which the other members had fetched when the change was
    proposed.

    A broker that has restarted since may not have the records of its former registration, so the controller
    rejects the older epoch, however late the last fetch under it arrived (KIP-903).
    """

    @property
    def isr(self) -> tuple[int, ...]:
        """The last ISR that this leader knows to be stored."""
        return self.before.isr

    @property
    def proposed(self) -> tuple[int, ...]:
        """The ISR in the proposal."""
        return (*self.before.isr, self.newcomer)

    @property
    def maximal(self) -> tuple[int, ...]:
        """Replicas that the high watermark waits for: the newcomer included, which can only delay it."""
        return self.proposed


class PendingShrink(Struct, frozen=True, eq=False):
    """The ISR while a proposal to remove `leaving` is pending."""

    before: Committed
    leaving: tuple[int, ...]
    registrations: Mapping[int, int] = NOT_KNOWN
    """Broker epochs of the registrations under which the members have fetched, as in `PendingExpand`."""

    @property
    def isr(self) -> tuple[int, ...]:
        """The last ISR that this leader knows to be stored."""
        return self.before.isr

    @property
    def proposed(self) -> tuple[int, ...]:
        """The ISR in the proposal."""
        return tuple(member for member in self.before.isr if member not in self.leaving)

    @property
    def maximal(self) -> tuple[int, ...]:
        """Replicas that the high watermark waits for: the leaving ones included, as they may still be
        elected.
        """
        return self.before.isr


Pending = PendingExpand | PendingShrink
IsrState = Committed | PendingExpand | PendingShrink


class IsrOwner(ReplicaIdentity, Protocol):
    """Partition that has proposed another ISR, and receives the outcome."""

    @property
    def role(self) -> Role:
        """The current role of this replica."""

    def isr_accepted(
        self, pending: Pending, leader_epoch: int, partition_epoch: int, isr: tuple[int, ...]
    ) -> None:
        """Replace the ISR by the one that the controller stored, which may differ from the proposed one."""

    def isr_refused(self, pending: Pending, error: ErrorCode) -> bool:
        """Handle the refusal of a proposed ISR; return True if it has to be proposed again."""
