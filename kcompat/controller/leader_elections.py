"""Kafka's rules for the election of a partition's leader (`kafka.controller.Election`). Pure.

Each function takes a partition and a test for live replicas. It returns the `ElectionResult`, or None if no
replica may lead. A clean election chooses from the stored ISR; the conditional write that stores the result
fails if that ISR has changed.
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


class ElectionResult(Struct, frozen=True, gc=False):
    """The leader and the ISR that an election gives a partition."""

    leader: int
    isr: tuple[int, ...]
    leader_recovery_state: int


def of_offline(partition: ControlledPartition, is_live: IsLive, *, unclean: bool) -> ElectionResult | None:
    """Elect the first live replica of the ISR; the ISR keeps its live members. If the ISR has no live member
    and `unclean` is set, elect the first live replica: it becomes the whole ISR and is RECOVERING (KIP-704).
    """
    live = [each for each in partition.replicas if is_live(each)]
    leader = next((each for each in live if each in partition.isr), None)
    if leader is not None:
        isr = tuple(each for each in partition.isr if each in live)
        return ElectionResult(leader, isr, partition.leader_recovery_state)
    return ElectionResult(live[0], (live[0],), RECOVERING) if live and unclean else None


def of_new(partition: ControlledPartition, is_live: IsLive) -> ElectionResult | None:
    """Elect the first live replica of a new partition; all live replicas form the ISR."""
    live = tuple(each for each in partition.replicas if is_live(each))
    return ElectionResult(live[0], live, RECOVERED) if live else None


def of_preferred(partition: ControlledPartition, is_live: IsLive) -> ElectionResult | None:
    """Elect the preferred replica, the first one assigned, if it is live and in sync."""
    preferred = partition.replicas[0]
    if preferred not in partition.isr or not is_live(preferred):
        return None
    return ElectionResult(preferred, partition.isr, partition.leader_recovery_state)


def of_reassigned(partition: ControlledPartition, is_live: IsLive) -> ElectionResult | None:
    """Elect the first replica of the target assignment that is live and in sync."""
    leader = next((each for each in partition.target if each in partition.isr and is_live(each)), None)
    return None if leader is None else ElectionResult(leader, partition.isr, partition.leader_recovery_state)


def of_shutdown(
    partition: ControlledPartition, is_live: IsLive, shutting_down: AbstractSet[int]
) -> ElectionResult | None:
    """Elect the first live replica of the ISR; brokers that shut down leave the ISR."""
    leader = next((each for each in partition.replicas if each in partition.isr and is_live(each)), None)
    if leader is None:
        return None
    isr = tuple(each for each in partition.isr if each not in shutting_down)
    return ElectionResult(leader, isr, partition.leader_recovery_state)
