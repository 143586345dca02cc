"""Offsets of a topic that is deleted and made again at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.removal import MAX_TOMBSTONES

if TYPE_CHECKING:
    from support.group_coordinators import GroupFixture

T0 = ("topic", 0)


def test_what_is_committed_of_a_topic_that_is_made_again_stays(fixture: GroupFixture) -> None:
    """Also while there are more offsets of the deleted one than a batch of tombstones holds."""
    last = ("topic", MAX_TOMBSTONES + 500)
    fixture.commit({("topic", index): 1 for index in range(last[1])} | {last: 1})
    fixture.log.hold()
    fixture.coordinator.forget_topics(lambda partition: partition[0] == "topic")
    fixture.commit({T0: 2, last: 2})
    fixture.log.release()
    assert fixture.fetch() == {T0: 2, last: 2}
