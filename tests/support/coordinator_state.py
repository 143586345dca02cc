"""The state of a coordinator's shard, to be compared with that of a replay of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.coordinator.runtime import Runtime
from kcompat.group.events import GroupEvents
from kcompat.group.expected import ExpectedMembers
from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.kinds.share.group import ShareGroup
from kcompat.group.kinds.streams.group import StreamsGroup
from kcompat.group.serde import GROUP_SERDE
from kcompat.group.shard import GroupShard
from kcompat.notices.notices import Notices
from kcompat.share.coordinator.coordinator import SHARE_STATE_SERDE
from kcompat.share.coordinator.shard import ShareShard
from kcompat.transaction.serde import TRANSACTION_SERDE
from kcompat.transaction.shard import TransactionShard
from support.coordinator_log import CommittedCopy
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from kcompat.cluster.image import ClusterImage
    from kcompat.coordinator.ports import CoordinatorLog
    from kcompat.group.base import Group
    from kcompat.group.coordinator_config import GroupCoordinatorConfig
    from kcompat.share.coordinator.shard import ShareCoordinatorConfig

_LATEST = 1
"""Any epoch does for a replay."""


def kept_of_groups(shard: GroupShard) -> dict[str, Any]:
    """By group: its records, its offsets, and those of open transactions."""
    kept: dict[str, Any] = {}
    for group_id, group in shard.groups.items():
        offsets = shard.offsets.get(group_id)
        held = {} if offsets is None else dict(offsets.items())
        staged = {} if offsets is None else offsets.staged
        if group.is_stored or held or staged:
            kept[group_id] = (_kept_of_group(group), held, staged)
    return kept


def _kept_of_group(group: Group) -> object:
    if isinstance(group, ClassicGroup):
        return group.stored
    assert isinstance(group, ConsumerGroup | ShareGroup | StreamsGroup)
    kept: dict[str, object] = {
        "header": group.header,
        "members": dict(group.members.items()),
        "targets": dict(group.targets.items()),
    }
    if isinstance(group, StreamsGroup):
        return {**kept, "topology": group.topology, "basis": group.basis}
    kept["subscribers"] = dict(group.subscribers)
    if isinstance(group, ConsumerGroup):
        return {**kept, "patterns": dict(group.patterns.items()), "static": group.static_members}
    return {**kept, "initialization": group.initialization}


def replayed_groups(
    log: CoordinatorLog, config: GroupCoordinatorConfig, partition: int, image: ClusterImage
) -> GroupShard:
    """The groups that a coordinator has which has just loaded the log."""
    clock = VirtualClock()
    events = GroupEvents(Notices(clock))
    runtime: Runtime[GroupShard] = Runtime(
        CommittedCopy(log),
        GROUP_SERDE,
        clock,
        lambda _, timers: GroupShard(
            timers,
            config,
            lambda: "no new member",
            lambda: image,
            ExpectedMembers(),
            events,
        ),
        in_bulk=lambda shard: shard.replay_in_bulk,
    )
    shard: GroupShard = _loaded(runtime, clock, partition)
    shard.check_invariants()
    return shard


def kept_of_transactions(shard: TransactionShard) -> dict[str, Any]:
    """By transactional id."""
    return dict(shard.transactions.items())


def replayed_transactions(log: CoordinatorLog, partition: int) -> TransactionShard:
    """The transactional ids that a coordinator has which has just loaded the log."""
    clock = VirtualClock()
    runtime: Runtime[TransactionShard] = Runtime(
        CommittedCopy(log), TRANSACTION_SERDE, clock, lambda *_: TransactionShard(lambda *_: None, lambda: 0)
    )
    shard: TransactionShard = _loaded(runtime, clock, partition)
    return shard


def kept_of_shares(shard: ShareShard) -> dict[Any, Any]:
    """By share partition."""
    return dict(shard.states.items())


def replayed_shares(log: CoordinatorLog, config: ShareCoordinatorConfig, partition: int) -> ShareShard:
    """The share partitions that a share coordinator has which has just loaded the log."""
    clock = VirtualClock()
    runtime: Runtime[ShareShard] = Runtime(
        CommittedCopy(log),
        SHARE_STATE_SERDE,
        clock,
        lambda *_: ShareShard(config, lambda _: 0),
        is_keyed=False,
    )
    shard: ShareShard = _loaded(runtime, clock, partition)
    return shard


def _loaded(runtime: Runtime[Any], clock: VirtualClock, partition: int) -> Any:
    runtime.load(partition, _LATEST)
    while runtime.is_loading:
        clock.advance(0)
    return dict(runtime.active())[partition]
