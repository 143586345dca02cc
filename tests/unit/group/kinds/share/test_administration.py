"""Share groups are deleted, and begin anew elsewhere; the share coordinator may fail meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.kinds.share.groups import AlteredOffsets, StartOffset
from kcompat.group.kinds.table import SHARE_KIND
from kcompat.protocol.errors import ErrorCode
from kcompat.share.key import SharePartitionKey
from kcompat.share.persister import Outcome, StateWrite
from support.group_coordinators import GROUP, topic_id

if TYPE_CHECKING:
    from support.share_groups import ShareGroupFixture

T, U = topic_id("t"), topic_id("u")
RETRY_MS = 30_000


def known(fixture: ShareGroupFixture) -> set[tuple[bytes, int]]:
    """The share partitions that the share coordinator keeps."""
    return {(key.topic_id, key.partition) for key in fixture.shares.states()}


def test_what_could_not_be_begun_is_begun_by_the_next_heartbeat(fixture: ShareGroupFixture) -> None:
    fixture.persister.error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    fixture.enter_share("a")
    assert not fixture.sharers().initialization.initializing
    fixture.persister.error = ErrorCode.NONE
    fixture.share("a")
    fixture.settle_share("a")
    assert fixture.told["a"] == {"t": [0, 1, 2]}


def test_what_nobody_answered_is_asked_again_after_a_while(fixture: ShareGroupFixture) -> None:
    fixture.share_groups  # noqa: B018 - the one of the first heartbeat is lost with its coordinator
    fixture.enter_share("a")
    fixture.restart()
    asked = len(fixture.persister.asked)
    fixture.clock.advance(RETRY_MS)
    fixture.share("a")
    fixture.make("t", 4)
    fixture.share("a")
    fixture.share("a")
    assert len(fixture.persister.asked) == asked + 1, "only what is new"


def test_a_group_is_deleted_with_all_that_is_known_of_it(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a")
    fixture.settle_share("a")
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.NON_EMPTY_GROUP
    fixture.leave_share("a")
    fixture.persister.error = ErrorCode.NOT_COORDINATOR
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.NOT_COORDINATOR
    assert fixture.sharers().initialization.deleting == {T}
    fixture.persister.error = ErrorCode.NONE
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.NONE
    assert known(fixture) == set()
    assert fixture.coordinator.delete(GROUP).value == ErrorCode.GROUP_ID_NOT_FOUND
    fixture.restart()
    assert fixture.coordinator.describe_modern(SHARE_KIND, GROUP).error == ErrorCode.GROUP_ID_NOT_FOUND


def test_groups_of_other_kinds_are_deleted_as_ever(fixture: ShareGroupFixture) -> None:
    fixture.commit({("t", 0): 1}, group_id="simple")
    assert fixture.coordinator.delete("simple").value == ErrorCode.NONE
    assert not fixture.persister.asked


def test_offsets_are_altered_in_a_group_without_members(fixture: ShareGroupFixture) -> None:
    altered = fixture.share_groups.alter_offsets(GROUP, {"t": {0: 5, 7: 1}, "absent": {0: 0}}).value
    assert altered == AlteredOffsets(outcomes={("t", 0): Outcome()})
    assert fixture.shares.states()[SharePartitionKey(GROUP, T, 0)].start_offset == 5
    fixture.enter_share("a")
    assert fixture.told["a"] == {"t": [0]}
    refused = fixture.share_groups.alter_offsets(GROUP, {"t": {0: 0}}).value
    assert refused.error == ErrorCode.NON_EMPTY_GROUP
    fixture.leave_share("a")
    fixture.persister.error = ErrorCode.FENCED_STATE_EPOCH
    failed = fixture.share_groups.alter_offsets(GROUP, {"t": {0: 0}}).value
    assert failed.outcomes == {("t", 0): Outcome(ErrorCode.FENCED_STATE_EPOCH, "told to fail")}


def test_offsets_that_could_not_be_noted_are_not_altered(fixture: ShareGroupFixture) -> None:
    """The share coordinator has the offset, but begins the share partition anew when a member joins."""

    def cut_off() -> None:
        fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS

    fixture.persister.begun = cut_off
    fixture.persister.failing = {1}
    altered = fixture.share_groups.alter_offsets(GROUP, {"t": {0: 5, 1: 6}}).value
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert altered.outcomes == {
        ("t", 0): Outcome(error, error.message),
        ("t", 1): Outcome(error, "told to fail"),
    }


def test_an_offset_is_altered_beside_one_that_could_not_be(fixture: ShareGroupFixture) -> None:
    fixture.persister.failing = {1}
    altered = fixture.share_groups.alter_offsets(GROUP, {"t": {0: 5, 1: 6}}).value
    assert [outcome.error for outcome in altered.outcomes.values()] == [
        ErrorCode.NONE,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ]
    fixture.persister.failing = set()
    fixture.clock.advance(RETRY_MS)
    fixture.enter_share("a")
    starts = {key.partition: state.start_offset for key, state in fixture.shares.states().items()}
    assert starts == {0: 5, 1: -1, 2: -1}


def test_only_share_groups_have_such_offsets(fixture: ShareGroupFixture) -> None:
    fixture.enter("c")
    assert (
        fixture.share_groups.alter_offsets(GROUP, {"t": {0: 0}}).value.error == ErrorCode.GROUP_ID_NOT_FOUND
    )
    assert fixture.share_groups.delete_offsets(GROUP, ["t"]).value.error == ErrorCode.GROUP_ID_NOT_FOUND
    for nobody in (fixture.share_groups.alter_offsets("", {}), fixture.share_groups.delete_offsets("", [])):
        assert nobody.value.error == ErrorCode.INVALID_GROUP_ID


def test_offsets_of_topics_are_deleted(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a", "tu")
    fixture.settle_share("a")
    assert fixture.share_groups.delete_offsets(GROUP, ["t"]).value.error == ErrorCode.NON_EMPTY_GROUP
    fixture.leave_share("a")
    fixture.persister.error = ErrorCode.NOT_COORDINATOR
    failed = fixture.share_groups.delete_offsets(GROUP, ["t"]).value
    assert failed.outcomes["t"].error == ErrorCode.NOT_COORDINATOR
    fixture.persister.error = ErrorCode.NONE
    done = fixture.share_groups.delete_offsets(GROUP, ["t", "absent"]).value.outcomes
    assert (done["t"], done["absent"].error) == (Outcome(), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert {topic for topic, _ in known(fixture)} == {U}
    again = fixture.share_groups.delete_offsets(GROUP, ["t"]).value.outcomes
    assert again["t"].error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fixture.share_groups.all_offsets(GROUP).value[1].keys() == {("u", 0), ("u", 1)}


def test_what_was_about_to_begin_of_a_topic_is_forgotten_with_the_rest(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a")
    fixture.settle_share("a")
    fixture.leave_share("a")
    fixture.make("t", 4)
    fixture.persister.error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    fixture.share_groups.alter_offsets(GROUP, {"t": {3: 0}})
    assert fixture.sharers().initialization.initializing.keys() == {T}
    fixture.share_groups.delete_offsets(GROUP, ["t"])
    assert fixture.sharers().initialization.initializing == {}
    assert fixture.sharers().initialization.deleting == {T}
    fixture.persister.error = ErrorCode.NONE
    assert fixture.share_groups.delete_offsets(GROUP, ["t"]).value.outcomes["t"] == Outcome()
    assert known(fixture) == set()


def test_where_a_group_stands(fixture: ShareGroupFixture) -> None:
    fixture.share_groups.alter_offsets(GROUP, {"t": {0: 4}})
    key = SharePartitionKey(GROUP, T, 0)
    fixture.shares.coordinator.read(key, 3)
    fixture.shares.coordinator.write(key, StateWrite(1, 3, 5, 2, ()))
    wanted = {"t": [0, 1]}
    assert fixture.share_groups.offsets(GROUP, wanted).value == {
        ("t", 0): StartOffset(ErrorCode.NONE, 5, 3, lag=3),
        ("t", 1): StartOffset(),
    }
    fixture.ends.error = ErrorCode.LEADER_NOT_AVAILABLE
    found = fixture.share_groups.offsets(GROUP, wanted).value
    assert found["t", 0] == StartOffset(ErrorCode.LEADER_NOT_AVAILABLE, 0)
    assert fixture.share_groups.all_offsets("absent").value == (ErrorCode.NONE, {})
    fixture.coordinator.stop()
    assert fixture.share_groups.all_offsets(GROUP).value == (ErrorCode.NOT_COORDINATOR, {})
