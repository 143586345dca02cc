"""What each request is answered while the coordinator still loads the group's partition.

Everybody is told to ask again, but for two requests of classic members, as with Kafka 3.9: whoever heartbeats
hears that all is well, and whoever waits for its assignment has to join again, as that was lost.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pytest

from kcompat.coordinator.claim import Claim
from kcompat.group.requests import CommitRequest, FetchingMember, OffsetToCommit
from kcompat.protocol.errors import ErrorCode
from support.consumer_group_world import ConsumerGroupWorld
from support.current import current
from support.group_world import GROUP, GroupWorld
from support.share_group_world import ShareGroupWorld
from support.streams_group_world import StreamsGroupWorld

KEPT, T0 = ("u", 0), ("t", 0)
LOADS, OK = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NONE

Ask = Callable[[Any], ErrorCode]
error_of = attrgetter("error")


def commit_in_transaction(world: GroupWorld) -> ErrorCode:
    request = CommitRequest(GROUP, (OffsetToCommit(*T0, 1),), is_transactional=True)
    return world.coordinator.commit_in_transaction(request, Claim("id", 1, 0)).value[T0]


def fetch(world: GroupWorld, *, require_stable: bool) -> ErrorCode:
    return world.coordinator.fetch(FetchingMember(GROUP), [T0], require_stable).value.error


CLASSIC: dict[str, tuple[Ask, ErrorCode]] = {
    "JoinGroup": (lambda world: world.join("a").value.error, LOADS),
    "SyncGroup": (lambda world: world.sync("a", 1).value.error, ErrorCode.REBALANCE_IN_PROGRESS),
    "Heartbeat": (lambda world: world.heartbeat("a", 1), OK),
    "LeaveGroup": (lambda world: world.leave("a").value.error, LOADS),
    "OffsetCommit": (lambda world: world.commit({T0: 1}).value[T0], LOADS),
    "TxnOffsetCommit": (commit_in_transaction, LOADS),
    "OffsetFetch": (lambda world: fetch(world, require_stable=False), LOADS),
    "OffsetFetch, stable": (lambda world: fetch(world, require_stable=True), LOADS),
    "OffsetDelete": (lambda world: world.coordinator.delete_offsets(GROUP, [T0]).value[0], LOADS),
    "DescribeGroups": (lambda world: world.coordinator.describe(GROUP).error, LOADS),
    "ListGroups": (lambda world: world.coordinator.list_groups(frozenset(), frozenset())[0], LOADS),
    "DeleteGroups": (lambda world: world.coordinator.delete(GROUP).value, LOADS),
}
CONSUMER: dict[str, tuple[Ask, ErrorCode]] = {
    "ConsumerGroupHeartbeat, joining": (lambda world: world.enter("a").error, LOADS),
    "ConsumerGroupHeartbeat": (lambda world: world.beat("a", 1).error, LOADS),
    "ConsumerGroupHeartbeat, leaving": (lambda world: world.beat("a", -1).error, LOADS),
    "ConsumerGroupDescribe": (lambda world: world.coordinator.describe_consumers(GROUP).error, LOADS),
}
SHARE: dict[str, tuple[Ask, ErrorCode]] = {
    "ShareGroupHeartbeat, joining": (lambda world: world.enter_share("a").error, LOADS),
    "ShareGroupHeartbeat": (lambda world: world.share("a", 1).error, LOADS),
    "ShareGroupHeartbeat, leaving": (lambda world: world.leave_share("a").error, LOADS),
    "ShareGroupDescribe": (lambda world: world.share_groups.describe(GROUP).error, LOADS),
    "AlterShareGroupOffsets": (
        lambda world: world.share_groups.alter_offsets(GROUP, {"t": {0: 1}}).value.error,
        LOADS,
    ),
    "DeleteShareGroupOffsets": (
        lambda world: world.share_groups.delete_offsets(GROUP, ["t"]).value.error,
        LOADS,
    ),
    "DescribeShareGroupOffsets": (lambda world: world.share_groups.all_offsets(GROUP).value[0], LOADS),
    "DeleteGroups": (lambda world: world.share_groups.delete(GROUP).value, LOADS),
}
STREAMS: dict[str, tuple[Ask, ErrorCode]] = {
    "StreamsGroupHeartbeat, joining": (lambda world: world.enter_streams("a").error, LOADS),
    "StreamsGroupHeartbeat": (lambda world: world.stream("a", 1).error, LOADS),
    "StreamsGroupHeartbeat, leaving": (lambda world: world.stream("a", -1).error, LOADS),
    "StreamsGroupDescribe": (lambda world: world.streams_groups.describe(GROUP).error, LOADS),
}
CASES = [
    pytest.param(make, ask, answer, id=name)
    for make, table in (
        (GroupWorld, CLASSIC),
        (ConsumerGroupWorld, CONSUMER),
        (ShareGroupWorld, SHARE),
        (StreamsGroupWorld, STREAMS),
    )
    for name, (ask, answer) in table.items()
]


@pytest.mark.parametrize(("make", "ask", "answer"), CASES)
def test_a_request_while_the_partition_loads(
    make: Callable[[], GroupWorld], ask: Ask, answer: ErrorCode
) -> None:
    world = make()
    world.commit({KEPT: 7})
    appends = world.log.appends
    world.log.hold()
    world.restart()
    assert current(world.coordinator.runtime.is_loading), "what is read is not certain yet"
    assert ask(world) == answer
    assert world.log.appends == appends, "what is refused writes nothing"
    world.log.release()
    assert not world.coordinator.runtime.is_loading
    assert world.fetch() == {KEPT: 7}
    assert ask(world) != LOADS
    world.check_invariants()
