"""Share groups are deleted, and begin anew elsewhere; the share coordinator may fail meanwhile."""

from __future__ import annotations

from kcompat.protocol.errors import ErrorCode
from kcompat.share.groups import AlteredOffsets, StartOffset
from kcompat.share.key import SharePartitionKey
from kcompat.share.persisting import Outcome, StateWrite
from support.share_group_world import GROUP, ShareGroupWorld, topic_id

T, U = topic_id("t"), topic_id("u")
RETRY_MS = 30_000


def known(world: ShareGroupWorld) -> set[tuple[bytes, int]]:
    """The share partitions that the share coordinator keeps."""
    return {(key.topic_id, key.partition) for key in world.shares.states()}


def test_what_could_not_be_begun_is_begun_by_the_next_heartbeat(world: ShareGroupWorld) -> None:
    world.persister.error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.enter_share("a")
    assert not world.sharers().initialization.initializing
    world.persister.error = ErrorCode.NONE
    world.share("a")
    world.settle_share("a")
    assert world.told["a"] == {"t": [0, 1, 2]}


def test_what_nobody_answered_is_asked_again_after_a_while(world: ShareGroupWorld) -> None:
    world.share_groups  # noqa: B018 - the one of the first heartbeat is lost with its coordinator
    world.enter_share("a")
    world.restart()
    asked = len(world.persister.asked)
    world.clock.advance(RETRY_MS)
    world.share("a")
    world.make("t", 4)
    world.share("a")
    world.share("a")
    assert len(world.persister.asked) == asked + 1, "only what is new"


def test_a_group_is_deleted_with_all_that_is_known_of_it(world: ShareGroupWorld) -> None:
    world.enter_share("a")
    world.settle_share("a")
    assert world.share_groups.delete(GROUP).value == ErrorCode.NON_EMPTY_GROUP
    world.leave_share("a")
    world.persister.error = ErrorCode.NOT_COORDINATOR
    assert world.share_groups.delete(GROUP).value == ErrorCode.NOT_COORDINATOR
    assert world.sharers().initialization.deleting == {T}
    world.persister.error = ErrorCode.NONE
    assert world.share_groups.delete(GROUP).value == ErrorCode.NONE
    assert known(world) == set()
    assert world.share_groups.delete(GROUP).value == ErrorCode.GROUP_ID_NOT_FOUND
    world.restart()
    assert world.share_groups.describe(GROUP).error == ErrorCode.GROUP_ID_NOT_FOUND


def test_groups_of_other_kinds_are_deleted_as_ever(world: ShareGroupWorld) -> None:
    world.commit({("t", 0): 1}, group_id="simple")
    assert world.share_groups.delete("simple").value == ErrorCode.NONE
    assert not world.persister.asked


def test_offsets_are_altered_in_a_group_without_members(world: ShareGroupWorld) -> None:
    altered = world.share_groups.alter_offsets(GROUP, {"t": {0: 5, 7: 1}, "absent": {0: 0}}).value
    assert altered == AlteredOffsets(outcomes={("t", 0): Outcome()})
    assert world.shares.states()[SharePartitionKey(GROUP, T, 0)].start_offset == 5
    world.enter_share("a")
    assert world.told["a"] == {"t": [0]}
    refused = world.share_groups.alter_offsets(GROUP, {"t": {0: 0}}).value
    assert refused.error == ErrorCode.NON_EMPTY_GROUP
    world.leave_share("a")
    world.persister.error = ErrorCode.FENCED_STATE_EPOCH
    failed = world.share_groups.alter_offsets(GROUP, {"t": {0: 0}}).value
    assert failed.outcomes == {("t", 0): Outcome(ErrorCode.FENCED_STATE_EPOCH, "told to fail")}


def test_offsets_that_could_not_be_noted_are_not_altered(world: ShareGroupWorld) -> None:
    """The share coordinator has the offset, but begins the share partition anew when a member joins."""

    def cut_off() -> None:
        world.log.error = ErrorCode.NOT_ENOUGH_REPLICAS

    world.persister.begun = cut_off
    world.persister.failing = {1}
    altered = world.share_groups.alter_offsets(GROUP, {"t": {0: 5, 1: 6}}).value
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert altered.outcomes == {
        ("t", 0): Outcome(error, error.message),
        ("t", 1): Outcome(error, "told to fail"),
    }


def test_an_offset_is_altered_beside_one_that_could_not_be(world: ShareGroupWorld) -> None:
    world.persister.failing = {1}
    altered = world.share_groups.alter_offsets(GROUP, {"t": {0: 5, 1: 6}}).value
    assert [outcome.error for outcome in altered.outcomes.values()] == [
        ErrorCode.NONE,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ]
    world.persister.failing = set()
    world.clock.advance(RETRY_MS)
    world.enter_share("a")
    starts = {key.partition: state.start_offset for key, state in world.shares.states().items()}
    assert starts == {0: 5, 1: -1, 2: -1}


def test_only_share_groups_have_such_offsets(world: ShareGroupWorld) -> None:
    world.enter("c")
    assert world.share_groups.alter_offsets(GROUP, {"t": {0: 0}}).value.error == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.share_groups.delete_offsets(GROUP, ["t"]).value.error == ErrorCode.GROUP_ID_NOT_FOUND
    for nobody in (world.share_groups.alter_offsets("", {}), world.share_groups.delete_offsets("", [])):
        assert nobody.value.error == ErrorCode.INVALID_GROUP_ID


def test_offsets_of_topics_are_deleted(world: ShareGroupWorld) -> None:
    world.enter_share("a", "tu")
    world.settle_share("a")
    assert world.share_groups.delete_offsets(GROUP, ["t"]).value.error == ErrorCode.NON_EMPTY_GROUP
    world.leave_share("a")
    world.persister.error = ErrorCode.NOT_COORDINATOR
    failed = world.share_groups.delete_offsets(GROUP, ["t"]).value
    assert failed.outcomes["t"].error == ErrorCode.NOT_COORDINATOR
    world.persister.error = ErrorCode.NONE
    done = world.share_groups.delete_offsets(GROUP, ["t", "absent"]).value.outcomes
    assert (done["t"], done["absent"].error) == (Outcome(), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert {topic for topic, _ in known(world)} == {U}
    again = world.share_groups.delete_offsets(GROUP, ["t"]).value.outcomes
    assert again["t"].error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.share_groups.all_offsets(GROUP).value[1].keys() == {("u", 0), ("u", 1)}


def test_what_was_about_to_begin_of_a_topic_is_forgotten_with_the_rest(world: ShareGroupWorld) -> None:
    world.enter_share("a")
    world.settle_share("a")
    world.leave_share("a")
    world.make("t", 4)
    world.persister.error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.share_groups.alter_offsets(GROUP, {"t": {3: 0}})
    assert world.sharers().initialization.initializing.keys() == {T}
    world.share_groups.delete_offsets(GROUP, ["t"])
    assert world.sharers().initialization.initializing == {}
    assert world.sharers().initialization.deleting == {T}
    world.persister.error = ErrorCode.NONE
    assert world.share_groups.delete_offsets(GROUP, ["t"]).value.outcomes["t"] == Outcome()
    assert known(world) == set()


def test_where_a_group_stands(world: ShareGroupWorld) -> None:
    world.share_groups.alter_offsets(GROUP, {"t": {0: 4}})
    key = SharePartitionKey(GROUP, T, 0)
    world.shares.coordinator.read(key, 3)
    world.shares.coordinator.write(key, StateWrite(1, 3, 5, 2, ()))
    wanted = {"t": [0, 1]}
    assert world.share_groups.offsets(GROUP, wanted).value == {
        ("t", 0): StartOffset(ErrorCode.NONE, 5, 3, lag=3),
        ("t", 1): StartOffset(),
    }
    world.ends.error = ErrorCode.LEADER_NOT_AVAILABLE
    found = world.share_groups.offsets(GROUP, wanted).value
    assert found["t", 0] == StartOffset(ErrorCode.LEADER_NOT_AVAILABLE, 0)
    assert world.share_groups.all_offsets("absent").value == (ErrorCode.NONE, {})
    world.coordinator.stop()
    assert world.share_groups.all_offsets(GROUP).value == (ErrorCode.NOT_COORDINATOR, {})
