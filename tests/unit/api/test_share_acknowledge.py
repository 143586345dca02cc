"""The handler of ShareAcknowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Client, Denying, Finalized
from support.share_apis import ShareApis, acknowledged
from support.share_partitions import ACCEPT, GROUP, LOCK_MS, OTHER, RELEASE, RENEW

if TYPE_CHECKING:
    from pathlib import Path

NONE = ErrorCode.NONE


@pytest.fixture
def apis(tmp_path: Path) -> ShareApis:
    """The member has the records 0 to 3 of partition 0."""
    apis = ShareApis(tmp_path)
    apis.fixture.produce(b"0", b"1", b"2", b"3")
    apis.fetch()
    return apis


def row(response: Any) -> Any:
    ((answer,),) = [topic.partitions for topic in response.responses]
    return answer


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_said_is_done(apis: ShareApis, version: int) -> None:
    response = apis.acknowledge(
        acknowledged(0, 1, ACCEPT), acknowledged(2, 3, RELEASE, ACCEPT), version=version
    )
    assert (response.error_code, row(response).error_code) == (NONE, NONE)
    assert response.acquisition_lock_timeout_ms == (LOCK_MS if version > 1 else 0)
    assert apis.fixture.led().machine is not None
    again = apis.fetch(epoch=0, member_id="other")
    ((fetched,),) = [topic.partitions for topic in again.responses]
    assert [(each.first_offset, each.delivery_count) for each in fetched.acquired_records] == [(2, 2)]


def test_the_answer_waits_for_the_coordinator(apis: ShareApis) -> None:
    apis.fixture.coordination.log.hold()
    waiting = apis.acknowledge(acknowledged(0, 3, ACCEPT))
    assert not waiting.done
    apis.fixture.coordination.log.release()
    assert row(waiting.value).error_code == NONE


def test_the_end_of_a_session_is_not_that_of_the_next(apis: ShareApis) -> None:
    """The member begins anew on another connection before what it said last is stored."""
    apis.fixture.coordination.log.hold()
    ending = apis.acknowledge(acknowledged(0, 0, ACCEPT), epoch=-1)
    apis.fixture.produce(b"4")
    apis.fetch(epoch=0, client=Client())
    apis.fixture.coordination.log.release()
    assert row(ending.value).error_code == NONE
    assert len(apis.sessions) == 1
    assert row(apis.acknowledge(acknowledged(4, 4, ACCEPT), epoch=1)).error_code == NONE


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        (acknowledged(0, 7, ACCEPT), ErrorCode.INVALID_REQUEST),
        (acknowledged(1, 0, ACCEPT), ErrorCode.INVALID_REQUEST),
        (acknowledged(0, 0, 9), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_done_is_refused(apis: ShareApis, batch: Any, error: ErrorCode) -> None:
    assert row(apis.acknowledge(batch)).error_code == error


def test_locks_are_renewed_where_the_request_says_so(apis: ShareApis) -> None:
    apis.fixture.clock.advance(LOCK_MS - 1)
    batch = acknowledged(0, 3, RENEW)
    assert row(apis.acknowledge(batch, version=1)).error_code == ErrorCode.INVALID_REQUEST
    assert row(apis.acknowledge(batch)).error_code == ErrorCode.INVALID_REQUEST
    assert row(apis.acknowledge(batch, is_renew_ack=True)).error_code == NONE
    apis.fixture.clock.advance(LOCK_MS - 1)
    assert row(apis.acknowledge(acknowledged(0, 3, ACCEPT))).error_code == NONE


def test_what_another_has_or_nobody_is_refused(apis: ShareApis) -> None:
    apis.fixture.clock.advance(LOCK_MS)
    response = apis.acknowledge(acknowledged(0, 3, ACCEPT))
    assert row(response).error_code == ErrorCode.INVALID_RECORD_STATE
    assert row(response).error_message == "The acknowledged records are not acquired."


def test_who_asks_has_a_name_and_may(apis: ShareApis) -> None:
    for fields in ({"group_id": None}, {"member_id": None}, {"member_id": ""}, {"member_id": "x" * 37}):
        assert apis.acknowledge(epoch=1, **fields).error_code == ErrorCode.INVALID_REQUEST
    apis.admit(Denying((Operation.READ, Resource.group(GROUP))))
    assert apis.acknowledge(epoch=1).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    apis.admit(Denying((Operation.READ, Resource.topic("topic"))))
    refused = apis.acknowledge(acknowledged(0, 0, ACCEPT))
    assert row(refused).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_only_a_session_acknowledges(apis: ShareApis) -> None:
    batch = acknowledged(0, 3, ACCEPT)
    assert apis.acknowledge(batch, epoch=0).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert apis.acknowledge(batch, epoch=7).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    unknown = apis.acknowledge(batch, epoch=1, member_id="other")
    assert unknown.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_the_last_epoch_gives_back_what_the_member_has(apis: ShareApis) -> None:
    assert row(apis.acknowledge(acknowledged(0, 1, ACCEPT), epoch=-1)).error_code == NONE
    again = apis.fetch(epoch=0, member_id="other")
    ((fetched,),) = [topic.partitions for topic in again.responses]
    assert [(each.first_offset, each.last_offset) for each in fetched.acquired_records] == [(2, 3)]


def test_partitions_without_records_are_answered(apis: ShareApis) -> None:
    unknown = apis.acknowledge(acknowledged(0, 0, ACCEPT), topic_id=b"\7" * 16)
    assert row(unknown).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    nowhere = apis.acknowledge(acknowledged(0, 0, ACCEPT), index=77)
    assert row(nowhere).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    unread = apis.acknowledge(acknowledged(0, 0, ACCEPT), index=1)
    assert row(unread).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert apis.acknowledge().responses == []


def test_a_state_that_another_leader_has_read_is_fenced(apis: ShareApis) -> None:
    led = apis.fixture.led()
    apis.fixture.coordination.coordinator.read(led.key, 99)
    answer = row(apis.acknowledge(acknowledged(0, 3, ACCEPT)))
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    apis.fixture.lead(OTHER)
    assert answer.current_leader.leader_id == 1


def test_a_cluster_without_share_groups(apis: ShareApis) -> None:
    apis.services.cluster.features = Finalized()
    assert apis.acknowledge().error_code == ErrorCode.UNSUPPORTED_VERSION


def test_what_is_known_is_forgotten_once_the_last_connection_of_the_group_has_ended(apis: ShareApis) -> None:
    other = Client()
    apis.fetch(epoch=0, member_id="other", client=other)
    apis.acknowledge(acknowledged(0, 3, ACCEPT), epoch=-1)
    apis.client.leave()
    assert len(apis.fixture.shares) == 1
    other.leave()
    assert len(apis.fixture.shares) == 0
