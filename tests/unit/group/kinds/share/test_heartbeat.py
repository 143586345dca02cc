"""Members of a share group join, have share partitions, change their minds and leave."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.cluster.config_entities import GROUPS
from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.share.initialization import Initialization
from kcompat.group.kinds.share.requests import ShareHeartbeatRequest
from kcompat.group.kinds.share.settings import ShareGroupConfig
from kcompat.group.kinds.table import SHARE_KIND
from kcompat.group.modern.heartbeat import HeartbeatAnswer
from kcompat.protocol.errors import ErrorCode
from support.default_settings import with_defaults
from support.group_coordinators import GROUP, topic_id
from support.share_groups import ShareGroupFixture

T, U = topic_id("t"), topic_id("u")
SESSION_MS = 45_000


def entering(member_id: str) -> ShareHeartbeatRequest:
    """The first heartbeat of a member that subscribes to `t`."""
    return ShareHeartbeatRequest(
        GROUP, member_id, 0, "client", "/127.0.0.1", subscribed_topics=frozenset("t")
    )


def test_share_partitions_are_begun_before_anybody_has_them(fixture: ShareGroupFixture) -> None:
    assert fixture.enter_share("a") == HeartbeatAnswer(
        member_id="a", member_epoch=2, heartbeat_interval_ms=5_000, assigned={}
    )
    assert fixture.shares.states().keys() == {key for _, key in fixture.persister.asked}
    assert fixture.share("a").member_epoch == 2, "the first target is young"
    assert fixture.sharers().group_epoch == 3
    fixture.clock.advance(1_000)
    answer = fixture.share("a")
    assert (answer.member_epoch, answer.assigned) == (3, {T: (0, 1, 2)})


def test_a_heartbeat_without_news_writes_nothing_and_tells_nothing(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a")
    fixture.settle_share("a")
    appends = fixture.log.appends
    assert fixture.share("a") == HeartbeatAnswer(member_id="a", member_epoch=3, heartbeat_interval_ms=5_000)
    assert fixture.log.appends == appends
    assert fixture.share("a", subscribed_topics=frozenset("t")).assigned == {T: (0, 1, 2)}


def test_several_members_may_have_one_partition(fixture: ShareGroupFixture) -> None:
    fixture.make("one", 1)
    for member_id in ("a", "b"):
        fixture.share(member_id, 0, subscribed_topics=frozenset(["one"]))
    fixture.settle_share("a", "b")
    assert fixture.told == {"a": {"one": [0]}, "b": {"one": [0]}}


def test_members_that_come_and_go_share_anew(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a")
    fixture.settle_share("a")
    fixture.enter_share("b")
    fixture.settle_share("a", "b")
    assert sorted(fixture.told["a"]["t"] + fixture.told["b"]["t"]) == [0, 1, 2]
    assert fixture.leave_share("a") == HeartbeatAnswer(member_id="a", member_epoch=-1)
    fixture.settle_share("b")
    assert fixture.told["b"] == {"t": [0, 1, 2]}


def test_a_member_whose_leaving_could_not_be_written_is_out_when_its_session_ends(
    fixture: ShareGroupFixture,
) -> None:
    """A member that has left sends no further heartbeat, so only its session can end its membership."""
    fixture.enter_share("a")
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert fixture.leave_share("a").error
    fixture.log.error = ErrorCode.NONE
    assert len(fixture.sharers().members)
    fixture.clock.advance(SESSION_MS)
    assert not len(fixture.sharers().members)


def test_a_member_that_says_nothing_is_out(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a")
    fixture.clock.advance(SESSION_MS - 1)
    fixture.share("a")
    fixture.clock.advance(SESSION_MS)
    assert fixture.share("a").error == ErrorCode.UNKNOWN_MEMBER_ID
    assert fixture.coordinator.describe_modern(SHARE_KIND, GROUP).state == "Empty"


def test_a_subscription_that_changes(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a")
    fixture.settle_share("a")
    fixture.share("a", subscribed_topics=frozenset("tu"))
    fixture.settle_share("a")
    assert fixture.told["a"] == {"t": [0, 1, 2], "u": [0, 1]}
    fixture.share("a", subscribed_topics=frozenset("u"))
    assert fixture.told["a"] == {"u": [0, 1]}


def test_a_topic_that_grows(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a")
    fixture.settle_share("a")
    fixture.make("t", 4)
    fixture.settle_share("a")
    assert fixture.told["a"] == {"t": [0, 1, 2, 3]}


def test_a_topic_that_is_deleted(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a", "tu")
    fixture.settle_share("a")
    fixture.delete("u")
    fixture.coordinator.forget_share_partitions({U})
    fixture.settle_share("a")
    assert fixture.told["a"] == {"t": [0, 1, 2]}
    assert fixture.sharers().initialization.initialized.keys() == {T}


def test_a_topic_that_is_deleted_while_it_is_begun(fixture: ShareGroupFixture) -> None:
    fixture.share_groups.heartbeat(entering("a"))
    fixture.delete("t")
    fixture.coordinator.forget_share_partitions({T})
    fixture.shares.topics = {T: 3}  # the share coordinator hears of it later
    fixture.clock.advance(0)
    assert fixture.shares.states(), "it was asked after the answer"
    assert fixture.sharers().initialization == Initialization()


def test_a_topic_that_is_gone_is_awaited_no_more(fixture: ShareGroupFixture) -> None:
    """That it was deleted could not be written, so the group holds it for one that there is."""
    fixture.enter_share("a")
    fixture.settle_share("a")
    fixture.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    fixture.delete("t")
    fixture.coordinator.forget_share_partitions({T})
    fixture.log.error = ErrorCode.NONE
    assert T in fixture.sharers().initialization.initialized
    fixture.settle_share("a")
    appends, epoch = fixture.log.appends, fixture.sharers().group_epoch
    fixture.settle_share("a")
    assert (fixture.log.appends, fixture.sharers().group_epoch) == (appends, epoch)


def test_the_answer_to_the_last_heartbeat_may_have_been_lost(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a")
    fixture.settle_share("a")
    assert fixture.share("a", 2).member_epoch == 3
    answer = fixture.share("a", 1)
    assert answer.error == ErrorCode.FENCED_MEMBER_EPOCH
    assert answer.message is not None
    assert "does not match the previous member epoch (2)" in answer.message
    assert fixture.share("a", 9).error == ErrorCode.FENCED_MEMBER_EPOCH


def test_who_is_not_known(fixture: ShareGroupFixture) -> None:
    for epoch in (1, -1):
        assert fixture.share("a", epoch).error == ErrorCode.GROUP_ID_NOT_FOUND
    fixture.enter_share("a")
    for epoch in (1, -1):
        assert fixture.share("stranger", epoch).error == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_refused_heartbeat_writes_nothing() -> None:
    """Every refusal precedes the first record, so a share heartbeat has nothing to take back."""
    fixture = ShareGroupFixture(
        with_defaults(GroupCoordinatorConfig, share=with_defaults(ShareGroupConfig, max_size=1))
    )
    fixture.enter_share("a")
    fixture.settle_share("a")
    appends = fixture.log.appends
    changed = {"subscribed_topics": frozenset("u"), "rack_id": "elsewhere"}
    assert fixture.share("a", 9, **changed).error == ErrorCode.FENCED_MEMBER_EPOCH
    assert fixture.share("b", 0, **changed).error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert fixture.share("b", -1).error == ErrorCode.UNKNOWN_MEMBER_ID
    assert fixture.log.appends == appends


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
def test_what_makes_no_sense_is_refused(
    fixture: ShareGroupFixture, fields: dict[str, Any], message: str
) -> None:
    wanted = {"member_id": "a", "epoch": 0, "subscribed_topics": frozenset("t"), **fields}
    answer = fixture.share(**wanted)
    assert (answer.error, answer.message) == (ErrorCode.INVALID_REQUEST, message)


def test_a_full_group() -> None:
    fixture = ShareGroupFixture(
        with_defaults(GroupCoordinatorConfig, share=with_defaults(ShareGroupConfig, max_size=1))
    )
    fixture.enter_share("a")
    assert fixture.enter_share("b").error == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert not fixture.enter_share("a").error


def test_a_group_obeys_its_own_settings(fixture: ShareGroupFixture) -> None:
    own = {"share.heartbeat.interval.ms": "7000", "share.session.timeout.ms": "60000"}
    fixture.show(fixture.image.with_configs({(GROUPS, GROUP): own}))
    assert fixture.enter_share("a").heartbeat_interval_ms == 7_000
    fixture.clock.advance(SESSION_MS + 1)
    assert not fixture.share("a").error
    fixture.show(fixture.image.with_configs({(GROUPS, GROUP): {"share.heartbeat.interval.ms": "99999"}}))
    assert fixture.share("a").heartbeat_interval_ms == 15_000, "within bounds that are younger"


def test_all_of_it_is_found_in_the_log(fixture: ShareGroupFixture) -> None:
    fixture.enter_share("a", rack_id="r")
    fixture.settle_share("a")
    before = fixture.sharers()
    fixture.restart()
    after = fixture.sharers()
    assert after is not before
    assert dict(after.members.items()) == dict(before.members.items())
    assert dict(after.targets.items()) == dict(before.targets.items())
    assert (after.header, after.initialization) == (before.header, before.initialization)
    assert not fixture.share("a").error
    fixture.clock.advance(SESSION_MS)
    assert fixture.share("a").error == ErrorCode.UNKNOWN_MEMBER_ID
