"""Members that subscribe by a pattern, and topics that come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.group.kinds.consumer.members import ConsumerState
from kcompat.group.kinds.consumer.settings import ConsumerGroupConfig
from kcompat.group.kinds.consumer.subscriptions import ResolvedPattern, is_due
from kcompat.protocol.errors import ErrorCode
from kcompat.regex.parser import MAX_LENGTH

if TYPE_CHECKING:
    from kcompat.group.modern.heartbeat import HeartbeatAnswer
    from support.group_coordinators import ConsumerGroupFixture


def enter(fixture: ConsumerGroupFixture, member_id: str, pattern: str, **fields: Any) -> HeartbeatAnswer:
    """Join with a pattern, and let it be compared with the topics."""
    answer = fixture.enter(member_id, **{"subscribed_topics": None, "subscribed_regex": pattern, **fields})
    fixture.clock.advance(0)
    return answer


def test_a_pattern_finds_topics_after_the_heartbeat_that_brought_it(fixture: ConsumerGroupFixture) -> None:
    assert enter(fixture, "a", "[tx]").assigned == {}
    fixture.report("a")
    assert fixture.owned("a") == {"t": [0, 1, 2]}
    assert fixture.consumers().state is ConsumerState.STABLE


def test_a_pattern_matches_whole_names(fixture: ConsumerGroupFixture) -> None:
    fixture.make("tt", 1)
    enter(fixture, "a", "t")
    fixture.report("a")
    assert fixture.owned("a") == {"t": [0, 1, 2]}


def test_only_topics_that_the_client_may_describe_are_found(fixture: ConsumerGroupFixture) -> None:
    enter(fixture, "a", ".*", may_describe=lambda topic: topic == "u")
    fixture.report("a")
    assert fixture.owned("a") == {"u": [0, 1]}


def test_an_invalid_pattern_is_refused(fixture: ConsumerGroupFixture) -> None:
    refused = enter(fixture, "a", "(t")
    assert (refused.error, refused.message) == (
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        "SubscribedTopicRegex `(t` is not a valid regular expression: missing closing ).",
    )
    assert not fixture.log.appends


def test_a_pattern_that_is_too_long_is_refused_and_told_in_part(fixture: ConsumerGroupFixture) -> None:
    refused = enter(fixture, "a", "t" * (MAX_LENGTH + 1))
    assert (refused.error, refused.message) == (
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        f"SubscribedTopicRegex `{'t' * 100}...` is not a valid regular expression: "
        "expression longer than 5000 characters.",
    )
    assert not fixture.log.appends


def test_a_member_with_a_pattern_that_is_known_gets_its_topics_at_once(fixture: ConsumerGroupFixture) -> None:
    enter(fixture, "a", "t")
    fixture.report("a")
    assert enter(fixture, "b", "t").member_epoch == 3
    fixture.settle("a", "b")
    assert fixture.owned("a") == {"t": [0, 1]}
    assert fixture.owned("b") == {"t": [2]}


def test_another_pattern_takes_the_place_of_the_old_one(fixture: ConsumerGroupFixture) -> None:
    enter(fixture, "a", "t")
    fixture.report("a")
    fixture.clock.advance(10_001)
    fixture.report("a", subscribed_regex="u")
    assert fixture.owned("a") == {}, "what it does not subscribe to any more is given up at once"
    fixture.clock.advance(0)
    fixture.settle("a")
    assert fixture.owned("a") == {"u": [0, 1]}
    assert dict(fixture.consumers().patterns.items()).keys() == {"u"}


def test_a_member_without_its_pattern_any_more(fixture: ConsumerGroupFixture) -> None:
    enter(fixture, "a", "t")
    fixture.report("a")
    fixture.report("a", subscribed_regex="", subscribed_topics=frozenset("u"))
    fixture.settle("a")
    assert fixture.owned("a") == {"u": [0, 1]}
    assert not dict(fixture.consumers().patterns.items())


def test_names_and_a_pattern_together(fixture: ConsumerGroupFixture) -> None:
    enter(fixture, "a", "t", subscribed_topics=frozenset("u"))
    fixture.settle("a")
    assert fixture.owned("a") == {"t": [0, 1, 2], "u": [0, 1]}


def test_the_last_member_takes_its_pattern_with_it(fixture: ConsumerGroupFixture) -> None:
    enter(fixture, "a", "t")
    fixture.report("a")
    fixture.beat("a", -1)
    assert not dict(fixture.consumers().patterns.items())


def test_a_new_topic_is_found_but_not_more_often_than_every_ten_seconds(
    fixture: ConsumerGroupFixture,
) -> None:
    enter(fixture, "a", "t.*")
    fixture.report("a")
    fixture.clock.advance(5_000)
    fixture.make("tt", 1)
    fixture.report("a")
    fixture.clock.advance(0)
    fixture.report("a")
    assert fixture.owned("a") == {"t": [0, 1, 2]}
    fixture.clock.advance(5_001)
    fixture.report("a")
    fixture.clock.advance(0)
    fixture.report("a")
    assert fixture.owned("a") == {"t": [0, 1, 2], "tt": [0]}


def test_a_topic_that_grows(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.make("t", 5)
    assert fixture.report("a").member_epoch == 3
    assert fixture.owned("a") == {"t": [0, 1, 2, 3, 4]}


def test_a_topic_that_is_deleted(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", "tu")
    fixture.delete("u")
    fixture.report("a")
    answer = fixture.report("a")
    assert answer.member_epoch == 3
    assert fixture.consumers().members.get("a") is not None
    assert {len(indexes) for indexes in fixture.members["a"].values()} == {3}


def test_a_topic_that_is_made_after_the_member_came(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a", "x")
    assert fixture.members["a"] == {}
    fixture.make("x", 2)
    fixture.report("a")
    assert fixture.owned("a") == {"x": [0, 1]}


def test_a_topic_that_nobody_asked_for_changes_nothing(fixture: ConsumerGroupFixture) -> None:
    fixture.enter("a")
    fixture.make("x", 2)
    assert fixture.report("a").member_epoch == 2


KNOWN = {"p": ResolvedPattern(frozenset("t"), 100_000)}


@pytest.mark.parametrize(
    ("subscribed", "resolved", "now_ms", "fields", "due"),
    [
        ([], {}, 500_000, {"is_new": True}, False),
        (["p"], {}, 0, {}, True),
        (["p"], KNOWN, 110_000, {"is_new": True}, False),
        (["p"], KNOWN, 110_001, {"is_new": True}, True),
        (["p"], KNOWN, 110_001, {}, False),
        (["p", "q"], KNOWN, 110_001, {}, True),
        (["p"], KNOWN, 110_001, {"topics_made_ms": 100_001}, True),
        (["p"], KNOWN, 110_001, {"topics_made_ms": 100_000}, False),
        (["p"], KNOWN, 700_000, {}, False),
        (["p"], KNOWN, 700_001, {}, True),
    ],
)
def test_when_patterns_are_compared_again(
    subscribed: list[str],
    resolved: dict[str, ResolvedPattern],
    now_ms: int,
    fields: dict[str, Any],
    due: bool,
) -> None:
    wanted = {"is_new": False, "topics_made_ms": 0, "refresh_interval_ms": 600_000, **fields}
    assert is_due(subscribed, resolved, now_ms, **wanted) is due


def test_the_broker_says_how_often() -> None:
    config = BrokerConfig({"group.consumer.regex.refresh.interval.ms": "20000"})
    assert ConsumerGroupConfig.read(config.get).regex_refresh_interval_ms == 20_000
