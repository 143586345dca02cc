"""Members of a share group join, have share partitions, change their minds and leave."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.cluster.config_entities import GROUPS
from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.share.initialization import Initialization
from kcompat.group.kinds.share.requests import ShareHeartbeatRequest
from kcompat.group.modern.answer import HeartbeatAnswer
from kcompat.group.modern.share_settings import ShareGroupConfig
from kcompat.protocol.errors import ErrorCode
from support.share_group_world import GROUP, ShareGroupWorld, topic_id

T, U = topic_id("t"), topic_id("u")
SESSION_MS = 45_000


def entering(member_id: str) -> ShareHeartbeatRequest:
    """The first heartbeat of a member that subscribes to `t`."""
    return ShareHeartbeatRequest(
        GROUP, member_id, 0, "client", "/127.0.0.1", subscribed_topics=frozenset("t")
    )


def test_share_partitions_are_begun_before_anybody_has_them(world: ShareGroupWorld) -> None:
    assert world.enter_share("a") == HeartbeatAnswer(
        member_id="a", member_epoch=2, heartbeat_interval_ms=5_000, assigned={}
    )
    assert world.shares.states().keys() == {key for _, key in world.persister.asked}
    assert world.share("a").member_epoch == 2, "the first target is young"
    assert world.sharers().group_epoch == 3
    world.clock.advance(1_000)
    answer = world.share("a")
    assert (answer.member_epoch, answer.assigned) == (3, {T: (0, 1, 2)})


def test_a_heartbeat_without_news_writes_nothing_and_tells_nothing(world: ShareGroupWorld) -> None:
    world.enter_share("a")
    world.settle_share("a")
    appends = world.log.appends
    assert world.share("a") == HeartbeatAnswer(member_id="a", member_epoch=3, heartbeat_interval_ms=5_000)
    assert world.log.appends == appends
    assert world.share("a", subscribed_topics=frozenset("t")).assigned == {T: (0, 1, 2)}


def test_several_members_may_have_one_partition(world: ShareGroupWorld) -> None:
    world.make("one", 1)
    for member_id in ("a", "b"):
        world.share(member_id, 0, subscribed_topics=frozenset(["one"]))
    world.settle_share("a", "b")
    assert world.told == {"a": {"one": [0]}, "b": {"one": [0]}}


def test_members_that_come_and_go_share_anew(world: ShareGroupWorld) -> None:
    world.enter_share("a")
    world.settle_share("a")
    world.enter_share("b")
    world.settle_share("a", "b")
    assert sorted(world.told["a"]["t"] + world.told["b"]["t"]) == [0, 1, 2]
    assert world.leave_share("a") == HeartbeatAnswer(member_id="a", member_epoch=-1)
    world.settle_share("b")
    assert world.told["b"] == {"t": [0, 1, 2]}


def test_a_member_whose_leaving_could_not_be_written_is_out_when_its_session_ends(
    world: ShareGroupWorld,
) -> None:
    """It does not ask again: it is gone."""
    world.enter_share("a")
    world.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.leave_share("a").error
    world.log.error = ErrorCode.NONE
    assert len(world.sharers().members)
    world.clock.advance(SESSION_MS)
    assert not len(world.sharers().members)


def test_a_member_that_says_nothing_is_out(world: ShareGroupWorld) -> None:
    world.enter_share("a")
    world.clock.advance(SESSION_MS - 1)
    world.share("a")
    world.clock.advance(SESSION_MS)
    assert world.share("a").error == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.share_groups.describe(GROUP).state == "Empty"


def test_a_subscription_that_changes(world: ShareGroupWorld) -> None:
    world.enter_share("a")
    world.settle_share("a")
    world.share("a", subscribed_topics=frozenset("tu"))
    world.settle_share("a")
    assert world.told["a"] == {"t": [0, 1, 2], "u": [0, 1]}
    world.share("a", subscribed_topics=frozenset("u"))
    assert world.told["a"] == {"u": [0, 1]}


def test_a_topic_that_grows(world: ShareGroupWorld) -> None:
    world.enter_share("a")
    world.settle_share("a")
    world.make("t", 4)
    world.settle_share("a")
    assert world.told["a"] == {"t": [0, 1, 2, 3]}


def test_a_topic_that_is_deleted(world: ShareGroupWorld) -> None:
    world.enter_share("a", "tu")
    world.settle_share("a")
    world.delete("u")
    world.share_groups.forget_topics({U})
    world.settle_share("a")
    assert world.told["a"] == {"t": [0, 1, 2]}
    assert world.sharers().initialization.initialized.keys() == {T}


def test_a_topic_that_is_deleted_while_it_is_begun(world: ShareGroupWorld) -> None:
    world.share_groups.heartbeat(entering("a"))
    world.delete("t")
    world.share_groups.forget_topics({T})
    world.shares.topics = {T: 3}  # the share coordinator hears of it later
    world.clock.advance(0)
    assert world.shares.states(), "it was asked after the answer"
    assert world.sharers().initialization == Initialization()


def test_a_topic_that_is_gone_is_awaited_no_more(world: ShareGroupWorld) -> None:
    """That it was deleted could not be written, so the group holds it for one that there is."""
    world.enter_share("a")
    world.settle_share("a")
    world.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    world.delete("t")
    world.share_groups.forget_topics({T})
    world.log.error = ErrorCode.NONE
    assert T in world.sharers().initialization.initialized
    world.settle_share("a")
    appends, epoch = world.log.appends, world.sharers().group_epoch
    world.settle_share("a")
    assert (world.log.appends, world.sharers().group_epoch) == (appends, epoch)


def test_the_answer_to_the_last_heartbeat_may_have_been_lost(world: ShareGroupWorld) -> None:
    world.enter_share("a")
    world.settle_share("a")
    assert world.share("a", 2).member_epoch == 3
    answer = world.share("a", 1)
    assert answer.error == ErrorCode.FENCED_MEMBER_EPOCH
    assert answer.message is not None
    assert "does not match the previous member epoch (2)" in answer.message
    assert world.share("a", 9).error == ErrorCode.FENCED_MEMBER_EPOCH


def test_who_is_not_known(world: ShareGroupWorld) -> None:
    for epoch in (1, -1):
        assert world.share("a", epoch).error == ErrorCode.GROUP_ID_NOT_FOUND
    world.enter_share("a")
    for epoch in (1, -1):
        assert world.share("stranger", epoch).error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_refused_heartbeat_writes_nothing() -> None:
    """Every refusal precedes the first record, so a share heartbeat has nothing to take back."""
    world = ShareGroupWorld(GroupCoordinatorConfig(share=ShareGroupConfig(max_size=1)))
    world.enter_share("a")
    world.settle_share("a")
    appends = world.log.appends
    changed = {"subscribed_topics": frozenset("u"), "rack_id": "elsewhere"}
    assert world.share("a", 9, **changed).error == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.share("b", 0, **changed).error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.share("b", -1).error == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.log.appends == appends


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"member_id": " "}, "MemberId can't be empty."),
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"subscribed_topics": frozenset()}, "SubscribedTopicNames must be set in first request."),
        ({"subscribed_topics": None}, "SubscribedTopicNames must be set in first request."),
        ({"epoch": -2}, "MemberEpoch is invalid."),
    ],
)
def test_what_makes_no_sense_is_refused(world: ShareGroupWorld, fields: dict[str, Any], message: str) -> None:
    wanted = {"member_id": "a", "epoch": 0, "subscribed_topics": frozenset("t"), **fields}
    answer = world.share(**wanted)
    assert (answer.error, answer.message) == (ErrorCode.INVALID_REQUEST, message)


def test_a_full_group() -> None:
    world = ShareGroupWorld(GroupCoordinatorConfig(share=ShareGroupConfig(max_size=1)))
    world.enter_share("a")
    assert world.enter_share("b").error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert not world.enter_share("a").error


def test_a_group_obeys_its_own_settings(world: ShareGroupWorld) -> None:
    own = {"share.heartbeat.interval.ms": "7000", "share.session.timeout.ms": "60000"}
    world.show(world.image.with_configs({(GROUPS, GROUP): own}))
    assert world.enter_share("a").heartbeat_interval_ms == 7_000
    world.clock.advance(SESSION_MS + 1)
    assert not world.share("a").error
    world.show(world.image.with_configs({(GROUPS, GROUP): {"share.heartbeat.interval.ms": "99999"}}))
    assert world.share("a").heartbeat_interval_ms == 15_000, "within bounds that are younger"


def test_all_of_it_is_found_in_the_log(world: ShareGroupWorld) -> None:
    world.enter_share("a", rack_id="r")
    world.settle_share("a")
    before = world.sharers()
    world.restart()
    after = world.sharers()
    assert after is not before
    assert dict(after.members.items()) == dict(before.members.items())
    assert dict(after.targets.items()) == dict(before.targets.items())
    assert (after.header, after.initialization) == (before.header, before.initialization)
    assert not world.share("a").error
    world.clock.advance(SESSION_MS)
    assert world.share("a").error == ErrorCode.UNKNOWN_MEMBER_ID
