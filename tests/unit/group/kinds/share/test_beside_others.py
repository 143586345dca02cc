"""A share group has its id to itself, and no committed offsets."""

from __future__ import annotations

from kcompat.group.kinds.classic.group import ClassicGroup
from kcompat.group.kinds.consumer.group import ConsumerGroup
from kcompat.group.requests import FetchingMember
from kcompat.protocol.errors import ErrorCode
from support.share_group_world import GROUP, ShareGroupWorld


def test_it_stays_what_it_is(world: ShareGroupWorld) -> None:
    world.enter_share("a")
    for _ in range(2):
        assert world.enter("c").error == ErrorCode.GROUP_ID_NOT_FOUND
        assert world.join().value.error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert world.commit({("t", 0): 1}).value == {("t", 0): ErrorCode.GROUP_ID_NOT_FOUND}
        deleted = world.coordinator.delete_offsets(GROUP, [("t", 0)]).value
        assert deleted == (ErrorCode.GROUP_ID_NOT_FOUND, {})
        fetched = world.coordinator.fetch(FetchingMember(GROUP), [("t", 0)], require_stable=False).value
        assert (fetched.error, fetched.offsets["t", 0].offset) == (ErrorCode.NONE, -1)
        world.leave_share("a")


def test_other_groups_stay_what_they_are(world: ShareGroupWorld) -> None:
    world.enter("c")
    answer = world.enter_share("a")
    assert (answer.error, answer.message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Group {GROUP} is not a share group.",
    )
    assert isinstance(next(iter(world.shards[0].groups.values()), world.consumers()), ConsumerGroup)
    world.commit({("t", 0): 1}, group_id="simple")
    assert world.enter_share("a", group_id="simple").error == ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(world.group("simple"), ClassicGroup)


def test_an_empty_one_is_kept(world: ShareGroupWorld) -> None:
    world.coordinator.start()
    world.enter_share("a")
    world.leave_share("a")
    world.clock.advance(10 * world.config.offsets_retention_ms)
    assert [group.state for group in world.coordinator.list_groups(set(), {"share"})[1]] == ["Empty"]
    assert world.coordinator.describe(GROUP).error == ErrorCode.GROUP_ID_NOT_FOUND
    world.coordinator.stop()
