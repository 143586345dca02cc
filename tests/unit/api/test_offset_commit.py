"""OffsetCommit over every version, with the answers that Kafka 3.9.2 gave."""

from __future__ import annotations

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Denying
from support.group_apis import ONE, STRANGE, TWO, GroupHandlers, commit, errors


@pytest.fixture
def broker() -> GroupHandlers:
    return GroupHandlers()


@pytest.mark.parametrize("version", range(10))
def test_commits_in_every_version(broker: GroupHandlers, version: int) -> None:
    asked = commit({("t1", 0): 5, ("t2", 0): 6, ("no", 0): 7, ("t1", 9): 7})
    answer = broker.ask(asked, version)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert errors(answer) == {("no", 0): unknown, ("t1", 9): unknown, ("t1", 0): 0, ("t2", 0): 0}
    assert [topic.name for topic in answer.topics] == ["t1", "no", "t2"]  # refused rows come first
    assert broker.fixture.fetch(group_id="g") == {("t1", 0): 5, ("t2", 0): 6}


def test_commits_by_topic_id(broker: GroupHandlers) -> None:
    answer = broker.ask(commit({(ONE, 0): 5, (STRANGE, 0): 6, (TWO, 7): 1}), 10)
    assert errors(answer) == {
        (STRANGE, 0): ErrorCode.UNKNOWN_TOPIC_ID,
        (TWO, 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (ONE, 0): 0,
    }
    assert broker.fixture.fetch(group_id="g") == {("t1", 0): 5}


@pytest.mark.parametrize(
    ("version", "error"), [(7, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_a_generation_of_an_absent_group(broker: GroupHandlers, version: int, error: ErrorCode) -> None:
    asked = commit({("t1", 0): 5}, generation_id_or_member_epoch=3, member_id="m")
    assert errors(broker.ask(asked, version)) == {("t1", 0): error}


def test_clients_date_their_commits_in_version_1_and_their_retention_in_2_to_4(broker: GroupHandlers) -> None:
    now_ms = broker.fixture.clock.now_ms()
    dated = commit({("t1", 0): 5})
    dated.topics[0].partitions[0].commit_timestamp = 12345
    broker.ask(dated, 1)
    broker.ask(commit({("t1", 1): 6}, retention_time_ms=1000), 2)
    broker.ask(commit({("t2", 0): 7}, retention_time_ms=1000), 5)
    kept = next(shard.offsets["g"] for shard in broker.fixture.shards if "g" in shard.offsets)
    times = {key: (row.commit_timestamp, row.expire_timestamp) for key, row in kept.items()}
    assert times == {("t1", 0): (12345, -1), ("t1", 1): (now_ms, now_ms + 1000), ("t2", 0): (now_ms, -1)}


def test_a_commit_waits_until_it_is_committed(broker: GroupHandlers) -> None:
    broker.fixture.log.hold()
    answer = broker.ask(commit({("t1", 0): 5, ("no", 0): 1}), 7)
    assert not answer.done
    broker.fixture.log.release()
    assert errors(answer.value) == {("no", 0): 3, ("t1", 0): 0}


def test_needs_to_read_the_topic(broker: GroupHandlers) -> None:
    broker.authorizer = Denying(
        (Operation.READ, Resource.topic("t2")), (Operation.READ, Resource.topic("none"))
    )
    answer = broker.ask(commit({("t1", 0): 5, ("t2", 0): 6, ("none", 0): 7}), 7)
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert errors(answer) == {("t2", 0): denied, ("none", 0): denied, ("t1", 0): 0}


def test_needs_to_read_the_group_and_answers_as_it_was_asked(broker: GroupHandlers) -> None:
    broker.authorizer = Denying((Operation.READ, Resource.group("g")))
    asked = commit({("t1", 0): 5})
    asked.topics *= 2
    answer = broker.ask(asked, 7)
    assert [row.error_code for topic in answer.topics for row in topic.partitions] == [30, 30]
