"""A share group has its id to itself, and no committed offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.requests import FetchingMember
from kcompat.protocol.errors import ErrorCode
from support.group_coordinators import GROUP

if TYPE_CHECKING:
    from support.share_groups import ShareGroupFixture


def test_it_stays_what_it_is(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a")
    for _ in range(2):
        assert fixture.enter("c").error == ErrorCode.GROUP_ID_NOT_FOUND
        assert fixture.join().value.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert fixture.commit({("t", 0): 1}).value == {("t", 0): ErrorCode.GROUP_ID_NOT_FOUND}
        deleted = fixture.coordinator.delete_offsets(GROUP, [("t", 0)]).value
        assert deleted == (ErrorCode.GROUP_ID_NOT_FOUND, {})
        fetched = fixture.coordinator.fetch(FetchingMember(GROUP), [("t", 0)], require_stable=False).value
        assert (fetched.error, fetched.offsets["t", 0].offset) == (ErrorCode.NONE, -1)
        fixture.leave_share("a")


def test_other_groups_stay_what_they_are(fixture: ShareGroupFixture) -> None:
    fixture.enter("c")
    answer = fixture.enter_share("a")
    assert (answer.error, answer.message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Group {GROUP} is not a share group.",
    )
    assert isinstance(next(iter(fixture.shards[0].groups.values()), fixture.consumers()), ConsumerGroup)
    fixture.commit({("t", 0): 1}, group_id="simple")
    assert fixture.enter_share("a", group_id="simple").error == ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(fixture.group("simple"), ClassicGroup)


def test_an_empty_one_is_kept(fixture: ShareGroupFixture) -> None:
    fixture.coordinator.start()
    fixture.enter_share("a")
    fixture.leave_share("a")
    fixture.clock.advance(10 * fixture.config.offsets_retention_ms)
    assert [group.state for group in fixture.coordinator.list_groups(set(), {"share"})[1]] == ["Empty"]
    assert fixture.coordinator.describe(GROUP).error == ErrorCode.GROUP_ID_NOT_FOUND
    fixture.coordinator.stop()
