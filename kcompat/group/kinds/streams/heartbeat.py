"""StreamsGroupHeartbeat: a member joins, stays, or leaves.

One heartbeat makes as many steps as possible: the member's fields, its topology and the existing topics
change the group epoch, the group epoch the target assignment, and the target the member's tasks. Each step is
written if it changes anything. Kafka's counterpart: `GroupMetadataManager.streamsGroupHeartbeat`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.streams import sessions
from kcompat.group.kinds.streams.configured import Status, StatusCode
from kcompat.group.kinds.streams.describing import endpoints
from kcompat.group.kinds.streams.group import StreamsGroup
from kcompat.group.kinds.streams.layout import Layout, lay_out, take_topology
from kcompat.group.kinds.streams.member import StreamsMember
from kcompat.group.kinds.streams.members import STREAMS, Basis
from kcompat.group.kinds.streams.reconciliation import StreamsStep, reconcile
from kcompat.group.kinds.streams.records import RECORDS
from kcompat.group.kinds.streams.requests import StreamsHeartbeatAnswer
from kcompat.group.kinds.streams.targets import STANDBY_REPLICAS, await_more_members, next_target
from kcompat.group.modern.group import find, find_for_member
from kcompat.group.modern.heartbeat import JOIN, Refusal, epoch_refusal, full_group, unknown_member
from kcompat.group.modern.own_settings import settings_of
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.group.base import GroupTransition
    from kcompat.group.kinds.streams.configured import ConfiguredTopology
    from kcompat.group.kinds.streams.requests import StreamsHeartbeatRequest
    from kcompat.group.kinds.streams.settings import StreamsGroupConfig
    from kcompat.group.kinds.streams.targets import Target
    from kcompat.group.kinds.streams.topology import Topology


def leave(transition: GroupTransition, request: StreamsHeartbeatRequest) -> StreamsHeartbeatAnswer | Refusal:
    """Remove a member that leaves."""
    group = find(transition.shard, request.group_id, StreamsGroup)
    if isinstance(group, Refusal):
        return group
    _note_shutdown(group, request)
    member = group.members.get(request.member_id)
    if member is None:
        return unknown_member(group.group_id, request.member_id)
    sessions.fence(transition, group, member)
    return StreamsHeartbeatAnswer(member_id=request.member_id, member_epoch=request.member_epoch)


def go_on(transition: GroupTransition, request: StreamsHeartbeatRequest) -> StreamsHeartbeatAnswer | Refusal:
    """Add a member, or advance it towards its target."""
    settings = settings_of(transition.shard.image(), transition.shard.config.streams, request.group_id)
    group = _group(transition, request, settings.max_size)
    if isinstance(group, Refusal):
        return group
    before = _member(group, request)
    if isinstance(before, Refusal):
        return before
    after = _as_it_is(before, request)
    if after != before:
        RECORDS.write_member(transition, group.group_id, after)
    topology = take_topology(transition, group, request.topology)
    if isinstance(topology, Refusal):
        return topology
    layout = lay_out(transition, group, topology)
    if isinstance(layout, Refusal):
        return layout
    refusal = _impossible_tasks(layout.configured, request)
    if refusal is not None:
        return refusal
    epoch, basis = _group_epoch(transition, group, topology, layout, settings, bump=after != before)
    await_more_members(transition, group, settings.initial_delay_ms)
    target = next_target(transition, group, epoch, after, layout.configured, basis.assignment_configs)
    reconciled = _reconcile(transition, group, after, target, request)
    if isinstance(reconciled, Refusal):
        return reconciled
    sessions.keep_alive(transition, group.group_id, reconciled.member_id)
    _note_shutdown(group, request)
    answer = StreamsHeartbeatAnswer(
        member_id=reconciled.member_id,
        member_epoch=reconciled.member_epoch,
        heartbeat_interval_ms=settings.heartbeat_interval_ms,
        statuses=_statuses(group, after, layout.configured, target),
        missing=layout.configured.missing,
    )
    return _with_news(transition, group, request, before, reconciled, answer)


# --- the group and the member


def _group(
    transition: GroupTransition, request: StreamsHeartbeatRequest, max_size: int
) -> StreamsGroup | Refusal:
    """Return the group of the request, or a new one for a member that joins.

    A new group replaces no group or a classic group without members. It is added to the shard when its first
    records are replayed.
    """
    if request.member_epoch != JOIN:
        return find_for_member(transition.shard, request.group_id, StreamsGroup)
    known: object = transition.shard.groups.get(request.group_id)
    group: StreamsGroup | Refusal
    if known is None:
        group = StreamsGroup(request.group_id, transition.shard.timeline)
    elif isinstance(known, ClassicGroup) and known.gives_way:
        known.write_tombstones(transition)
        group = StreamsGroup(request.group_id, transition.shard.timeline)
    else:
        group = find(transition.shard, request.group_id, StreamsGroup)
    if not isinstance(group, Refusal) and len(group.members) >= max_size:
        return full_group(STREAMS, max_size)
    return group


def _member(group: StreamsGroup, request: StreamsHeartbeatRequest) -> StreamsMember | Refusal:
    """Return the member in the log, or a new one that joins."""
    member = group.members.get(request.member_id)
    if member is None:
        joins = request.member_epoch == JOIN
        return (
            StreamsMember(request.member_id) if joins else unknown_member(group.group_id, request.member_id)
        )
    owned = request.owned
    lost_answer = (
        request.member_epoch == member.previous_member_epoch
        and owned is not None
        and owned.are_within(member.assigned)
    )
    refusal = epoch_refusal(STREAMS, request.member_epoch, member.member_epoch, accepts_older=lost_answer)
    return refusal or member


def _as_it_is(member: StreamsMember, request: StreamsHeartbeatRequest) -> StreamsMember:
    """Return the member with the fields of the request."""
    said: dict[str, object] = {
        name: value
        for name, value in (
            ("rack_id", request.rack_id),
            ("process_id", request.process_id),
            ("endpoint", request.endpoint),
            ("client_tags", request.client_tags),
        )
        if value is not None
    }
    if request.rebalance_timeout_ms != -1:
        said["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.topology is not None:
        said["topology_epoch"] = request.topology.epoch
    return replace(member, **said, client_id=request.client_id, client_host=request.client_host)


def _impossible_tasks(configured: ConfiguredTopology, request: StreamsHeartbeatRequest) -> Refusal | None:
    """Return the refusal of a member that reports tasks that do not exist; None while the tasks are
    unknown.
    """
    if not configured.is_ready:
        return None
    subtopologies = configured.subtopologies or {}
    for tasks in (request.active, request.standby, request.warmup):
        for subtopology_id, numbers in (tasks or {}).items():
            subtopology = subtopologies.get(subtopology_id)
            if subtopology is None:
                message = f"Subtopology {subtopology_id} does not exist in the topology."
                return Refusal(ErrorCode.INVALID_REQUEST, message)
            for number in sorted(numbers):
                if not 0 <= number < subtopology.tasks:
                    return Refusal(
                        ErrorCode.INVALID_REQUEST,
                        f"Task {number} for subtopology {subtopology_id} is invalid. Number of tasks for "
                        f"this subtopology: {subtopology.tasks}",
                    )
    return None


# --- epoch and reconciliation


def _group_epoch(
    transition: GroupTransition,
    group: StreamsGroup,
    topology: Topology,
    layout: Layout,
    settings: StreamsGroupConfig,
    *,
    bump: bool,
) -> tuple[int, Basis]:
    """Return the current group epoch, raised if its basis has changed, and the basis."""
    basis = Basis(
        topology.epoch if layout.configured.is_ready else Basis().validated_epoch,
        {STANDBY_REPLICAS: str(settings.standby_replicas)},
    )
    epoch = group.group_epoch
    if bump or basis != group.basis or layout.metadata_hash != group.header.metadata_hash:
        epoch += 1
        RECORDS.write_epoch_on(transition, group.group_id, epoch, layout.metadata_hash, basis)
    if layout.is_news:
        group.refreshed(epoch, topology.required_topics(), transition.shard.image())
    return epoch, basis


def _reconcile(
    transition: GroupTransition,
    group: StreamsGroup,
    member: StreamsMember,
    target: Target,
    request: StreamsHeartbeatRequest,
) -> StreamsMember | Refusal:
    """Return the member after one step towards its target."""
    if member.is_reconciled_to(target.epoch):
        return member
    around = StreamsStep(target.epoch, target.tasks, group, request.owned)
    reconciled = reconcile(member, around)
    if not isinstance(reconciled, Refusal) and reconciled != member:
        RECORDS.write_current(transition, group.group_id, reconciled)
        sessions.watch_revocation(transition, group.group_id, reconciled)
    return reconciled


# --- the response


def _note_shutdown(group: StreamsGroup, request: StreamsHeartbeatRequest) -> None:
    if request.wants_shutdown and group.shutdown_by is None:
        group.shutdown_by = request.member_id


def _statuses(
    group: StreamsGroup, member: StreamsMember, configured: ConfiguredTopology, target: Target
) -> tuple[Status, ...]:
    found = []
    topology = group.topology
    if topology is not None and member.topology_epoch < topology.epoch:
        detail = (
            f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch "
            f"{topology.epoch}."
        )
        found.append(Status(StatusCode.STALE_TOPOLOGY, detail))
    if target.delayed is not None:
        found.append(target.delayed)
    if configured.problem is not None:
        found.append(configured.problem)
    if group.shutdown_by is not None:
        detail = (
            f"Streams group member {group.shutdown_by} encountered a fatal error and requested a shutdown "
            "for the entire application."
        )
        found.append(Status(StatusCode.SHUTDOWN_APPLICATION, detail))
    return tuple(found)


def _with_news(
    transition: GroupTransition,
    group: StreamsGroup,
    request: StreamsHeartbeatRequest,
    before: StreamsMember,
    after: StreamsMember,
    answer: StreamsHeartbeatAnswer,
) -> StreamsHeartbeatAnswer:
    """Return the response with the member's tasks and all endpoints added, if they have changed for the
    member.
    """
    if request.member_epoch == JOIN or before.assigned != after.assigned:
        answer = replace(answer, tasks=after.assigned)
        if after.endpoint is not None:
            group.endpoint_epoch += 1
    if group.endpoint_epoch != request.endpoint_epoch and group.configured is not None:
        others = [member for member in group.members.values() if member.member_id != after.member_id]
        found = endpoints([*others, after], group.configured, transition.shard.image())
        answer = replace(answer, endpoints=found)
    # A new group is replaced by another object when it is replayed, so its members begin at endpoint epoch 0.
    is_known = transition.shard.groups.get(group.group_id) is not None
    return replace(answer, endpoint_epoch=group.endpoint_epoch if is_known else 0)
