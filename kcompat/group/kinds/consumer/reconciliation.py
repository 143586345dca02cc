"""Reconciliation of a member with its target: it revokes first, then takes partitions that others have
revoked. Pure.

Kafka's counterpart: `CurrentAssignmentBuilder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.group.kinds.consumer.member import NO_EPOCHS, ConsumerMemberState
from kcompat.group.modern.heartbeat import Refusal
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.group.kinds.consumer.member import ConsumerMember

Epochs = dict[bytes, dict[int, int]]


class ConsumerStep(Struct, frozen=True):
    """Facts that decide the next step of a member towards its target.

    `target` is the target assignment at `target_epoch`. Partitions of topics that are not in `subscribed`
    (ids) are revoked even if the target has them. `is_held(topic_id, partition)` returns whether any member
    owns a partition or has yet to revoke it. `reported` are the partitions that the member reports to own,
    None if it reports none.
    """

    target_epoch: int
    target: Mapping[bytes, frozenset[int]]
    subscribed: frozenset[bytes]
    is_held: Callable[[bytes, int], bool]
    reported: Mapping[bytes, frozenset[int]] | None
    subscription_changed: bool = False


def reconcile(member: ConsumerMember, around: ConsumerStep) -> ConsumerMember | Refusal:
    """Return the member after its next step towards its target, or the refusal of its heartbeat."""
    match member.state:
        case ConsumerMemberState.STABLE:
            if member.member_epoch != around.target_epoch:
                return _next(member, member.member_epoch, around)
            return _without_unsubscribed(member, around) if around.subscription_changed else member
        case ConsumerMemberState.UNREVOKED_PARTITIONS:
            if not _still_owns(member.revoking, around):
                return _next(member, member.member_epoch, around)
            return _without_unsubscribed(member, around) if around.subscription_changed else member
        case ConsumerMemberState.UNRELEASED_PARTITIONS:
            return _next(member, member.member_epoch, around)
        case _:
            if around.reported is None or around.reported:
                return Refusal(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The consumer group member is in a unknown state. The member must abandon all its "
                    "partitions and rejoin.",
                )
            return _next(member, around.target_epoch, around)


def _still_owns(revoking: Mapping[bytes, Mapping[int, int]], around: ConsumerStep) -> bool:
    """Return whether the member has yet to revoke any partition in `revoking`.

    A member that reports no partitions has revoked nothing.
    """
    if around.reported is None:
        return True
    return any(
        not indexes.isdisjoint(revoking.get(topic_id, ())) for topic_id, indexes in around.reported.items()
    )


def _without_unsubscribed(member: ConsumerMember, around: ConsumerStep) -> ConsumerMember:
    """Return the member after it was asked to revoke, in its epoch, partitions of topics that it no longer
    subscribes to.
    """
    kept = {topic: epochs for topic, epochs in member.assigned.items() if topic in around.subscribed}
    if len(kept) == len(member.assigned):
        return member
    revoking = {topic: dict(epochs) for topic, epochs in member.revoking.items()}
    for topic_id in member.assigned.keys() - kept.keys():
        revoking.setdefault(topic_id, {}).update(member.assigned[topic_id])
    if _still_owns(revoking, around):
        return _at(member, member.member_epoch, ConsumerMemberState.UNREVOKED_PARTITIONS, kept, revoking)
    return _at(member, member.member_epoch, member.state, kept, member.revoking)


def _next(member: ConsumerMember, epoch: int, around: ConsumerStep) -> ConsumerMember:
    """Return the member with every target partition that is free, at the target epoch.

    A member that has partitions to revoke keeps `epoch` and gets no partition.
    """
    kept: Epochs = {}
    revoking: Epochs = {}
    free: dict[bytes, set[int]] = {}
    waits = False
    for topic_id in around.target.keys() | member.assigned.keys():
        wanted = around.target.get(topic_id, frozenset()) if topic_id in around.subscribed else frozenset()
        has = member.assigned.get(topic_id, {})
        own_revoking = member.revoking.get(topic_id, {})
        stays = {index: since for index, since in has.items() if index in wanted}
        goes = {index: since for index, since in has.items() if index not in wanted}
        missing = wanted - has.keys()
        # Partitions that the member itself is revoking do not block its own target.
        ready = {i for i in missing if i in own_revoking or not around.is_held(topic_id, i)}
        waits |= len(ready) < len(missing)
        for found, partitions in ((kept, stays), (revoking, goes)):
            if partitions:
                found[topic_id] = partitions
        if ready:
            free[topic_id] = ready
    if revoking and _still_owns(revoking, around):
        return _at(member, epoch, ConsumerMemberState.UNREVOKED_PARTITIONS, kept, revoking)
    for topic_id, indexes in free.items():
        kept.setdefault(topic_id, {}).update(dict.fromkeys(sorted(indexes), around.target_epoch))
    state = ConsumerMemberState.UNRELEASED_PARTITIONS if waits else ConsumerMemberState.STABLE
    return _at(member, around.target_epoch, state, kept, NO_EPOCHS)


def _at(
    member: ConsumerMember,
    epoch: int,
    state: ConsumerMemberState,
    assigned: Mapping[bytes, Mapping[int, int]],
    revoking: Mapping[bytes, Mapping[int, int]],
) -> ConsumerMember:
    return replace(
        member,
        member_epoch=epoch,
        previous_member_epoch=member.member_epoch,
        state=state,
        assigned=assigned,
        revoking=revoking,
    )
