"""The answer to each request while the coordinator still loads the group's partition.

Everybody is told to ask again, but for two requests of classic members, as with Kafka 3.9: whoever heartbeats
hears that all is well, and whoever waits for its assignment has to join again, as that was lost.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pytest

from kcompat.coordinator.ports import Claim
from kcompat.group.kinds.table import CONSUMER_KIND, SHARE_KIND, STREAMS_KIND
from kcompat.group.requests import CommitRequest, FetchingMember, OffsetToCommit
from kcompat.protocol.errors import ErrorCode
from support.current import current
from support.group_coordinators import GROUP, ConsumerGroupFixture, GroupFixture
from support.share_groups import ShareGroupFixture
from support.streams_groups import StreamsGroupFixture

KEPT, T0 = ("u", 0), ("t", 0)
LOADS, OK = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NONE

Ask = Callable[[Any], ErrorCode]
error_of = attrgetter("error")


def commit_in_transaction(fixture: GroupFixture) -> ErrorCode:
    request = CommitRequest(GROUP, (OffsetToCommit(*T0, 1),), is_transactional=True)
    return fixture.coordinator.commit_in_transaction(request, Claim("id", 1, 0)).value[T0]


def fetch(fixture: GroupFixture, *, require_stable: bool) -> ErrorCode:
    return fixture.coordinator.fetch(FetchingMember(GROUP), [T0], require_stable).value.error


CLASSIC: dict[str, tuple[Ask, ErrorCode]] = {
    "JoinGroup": (lambda fixture: fixture.join("a").value.error, LOADS),
    "SyncGroup": (lambda fixture: fixture.sync("a", 1).value.error, ErrorCode.REBALANCE_IN_PROGRESS),
    "Heartbeat": (lambda fixture: fixture.heartbeat("a", 1), OK),
    "LeaveGroup": (lambda fixture: fixture.leave("a").value.error, LOADS),
    "OffsetCommit": (lambda fixture: fixture.commit({T0: 1}).value[T0], LOADS),
    "TxnOffsetCommit": (commit_in_transaction, LOADS),
    "OffsetFetch": (lambda fixture: fetch(fixture, require_stable=False), LOADS),
    "OffsetFetch, stable": (lambda fixture: fetch(fixture, require_stable=True), LOADS),
    "OffsetDelete": (lambda fixture: fixture.coordinator.delete_offsets(GROUP, [T0]).value[0], LOADS),
    "DescribeGroups": (lambda fixture: fixture.coordinator.describe(GROUP).error, LOADS),
    "ListGroups": (lambda fixture: fixture.coordinator.list_groups(frozenset(), frozenset())[0], LOADS),
    "DeleteGroups": (lambda fixture: fixture.coordinator.delete(GROUP).value, LOADS),
}
CONSUMER: dict[str, tuple[Ask, ErrorCode]] = {
    "ConsumerGroupHeartbeat, joining": (lambda fixture: fixture.enter("a").error, LOADS),
    "ConsumerGroupHeartbeat": (lambda fixture: fixture.beat("a", 1).error, LOADS),
    "ConsumerGroupHeartbeat, leaving": (lambda fixture: fixture.beat("a", -1).error, LOADS),
    "ConsumerGroupDescribe": (
        lambda fixture: fixture.coordinator.describe_modern(CONSUMER_KIND, GROUP).error,
        LOADS,
    ),
}
SHARE: dict[str, tuple[Ask, ErrorCode]] = {
    "ShareGroupHeartbeat, joining": (lambda fixture: fixture.enter_share("a").error, LOADS),
    "ShareGroupHeartbeat": (lambda fixture: fixture.share("a", 1).error, LOADS),
    "ShareGroupHeartbeat, leaving": (lambda fixture: fixture.leave_share("a").error, LOADS),
    "ShareGroupDescribe": (
        lambda fixture: fixture.coordinator.describe_modern(SHARE_KIND, GROUP).error,
        LOADS,
    ),
    "AlterShareGroupOffsets": (
        lambda fixture: fixture.share_groups.alter_offsets(GROUP, {"t": {0: 1}}).value.error,
        LOADS,
    ),
    "DeleteShareGroupOffsets": (
        lambda fixture: fixture.share_groups.delete_offsets(GROUP, ["t"]).value.error,
        LOADS,
    ),
    "DescribeShareGroupOffsets": (lambda fixture: fixture.share_groups.all_offsets(GROUP).value[0], LOADS),
    "DeleteGroups": (lambda fixture: fixture.coordinator.delete(GROUP).value, LOADS),
}
STREAMS: dict[str, tuple[Ask, ErrorCode]] = {
    "StreamsGroupHeartbeat, joining": (lambda fixture: fixture.enter_streams("a").error, LOADS),
    "StreamsGroupHeartbeat": (lambda fixture: fixture.stream("a", 1).error, LOADS),
    "StreamsGroupHeartbeat, leaving": (lambda fixture: fixture.stream("a", -1).error, LOADS),
    "StreamsGroupDescribe": (
        lambda fixture: fixture.coordinator.describe_modern(STREAMS_KIND, GROUP).error,
        LOADS,
    ),
}
CASES = [
    pytest.param(make, ask, answer, id=name)
    for make, table in (
        (GroupFixture, CLASSIC),
        (ConsumerGroupFixture, CONSUMER),
        (ShareGroupFixture, SHARE),
        (StreamsGroupFixture, STREAMS),
    )
    for name, (ask, answer) in table.items()
]


@pytest.mark.parametrize(("make", "ask", "answer"), CASES)
def test_a_request_while_the_partition_loads(
    make: Callable[[], GroupFixture], ask: Ask, answer: ErrorCode
) -> None:
    fixture = make()
    fixture.commit({KEPT: 7})
    appends = fixture.log.appends
    fixture.log.hold()
    fixture.restart()
    assert current(fixture.coordinator.runtime.is_loading), "what is read is not certain yet"
    assert ask(fixture) == answer
    assert fixture.log.appends == appends, "what is refused writes nothing"
    fixture.log.release()
    assert not fixture.coordinator.runtime.is_loading
    assert fixture.fetch() == {KEPT: 7}
    assert ask(fixture) != LOADS
    fixture.check_invariants()
