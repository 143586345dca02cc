"""Kafka's rules for the election of a partition's leader (`kafka.controller.Election`). Pure.

Each takes a partition and tells who may lead it now, and answers the `Choice`, or None where nobody fits. A
clean one comes from the ISR that the store has: the write that stores it insists on that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.controller.state import RECOVERED, RECOVERING

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from kcompat.controller.state import ControlledPartition

    IsLive = Callable[[int], bool]


class Choice(Struct, frozen=True, gc=False):
    """The leader and the ISR that a partition gets."""

    leader: int
    isr: tuple[int, ...]
    leader_recovery_state: int


def of_offline(partition: ControlledPartition, is_live: IsLive, *, unclean: bool) -> Choice | None:
    """The first live replica in sync; the live ones stay in sync. If there is none and `unclean` allows it,
    the first live replica, which is in sync alone and recovers.
    """
    live = [each for each in partition.replicas if is_live(each)]
    leader = next((each for each in live if each in partition.isr), None)
    if leader is not None:
        isr = tuple(each for each in partition.isr if each in live)
        return Choice(leader, isr, partition.leader_recovery_state)
    return Choice(live[0], (live[0],), RECOVERING) if live and unclean else None


def of_new(partition: ControlledPartition, is_live: IsLive) -> Choice | None:
    """The first live replica; all live ones are in sync."""
    live = tuple(each for each in partition.replicas if is_live(each))
    return Choice(live[0], live, RECOVERED) if live else None


def of_preferred(partition: ControlledPartition, is_live: IsLive) -> Choice | None:
    """The first of the replicas, if it is live and in sync."""
    preferred = partition.replicas[0]
    if preferred not in partition.isr or not is_live(preferred):
        return None
    return Choice(preferred, partition.isr, partition.leader_recovery_state)


def of_reassigned(partition: ControlledPartition, is_live: IsLive) -> Choice | None:
    """The first of the replicas that are wanted that is live and in sync."""
    leader = next((each for each in partition.target if each in partition.isr and is_live(each)), None)
    return None if leader is None else Choice(leader, partition.isr, partition.leader_recovery_state)


def of_shutdown(
    partition: ControlledPartition, is_live: IsLive, shutting_down: AbstractSet[int]
) -> Choice | None:
    """The first live replica in sync; those that shut down leave the ISR."""
    leader = next((each for each in partition.replicas if each in partition.isr and is_live(each)), None)
    if leader is None:
        return None
    isr = tuple(each for each in partition.isr if each not in shutting_down)
    return Choice(leader, isr, partition.leader_recovery_state)
