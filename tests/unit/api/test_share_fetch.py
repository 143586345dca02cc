"""The handler of ShareFetch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation
from support.asking import Client, Denying, Finalized
from support.share_apis import ShareApis, said
from support.share_partitions import ACCEPT, GROUP, LOCK_MS, OTHER, RELEASE, RENEW

if TYPE_CHECKING:
    from pathlib import Path

NONE = ErrorCode.NONE


@pytest.fixture
def apis(tmp_path: Path) -> ShareApis:
    apis = ShareApis(tmp_path)
    apis.fixture.produce(b"0", b"1", b"2")
    apis.fixture.produce(b"3")
    return apis


def rows(response: Any) -> dict[int, Any]:
    return {row.partition_index: row for topic in response.responses for row in topic.partitions}


def acquired(response: Any, index: int = 0) -> list[tuple[int, int, int]]:
    row = rows(response).get(index)
    return (
        []
        if row is None
        else [(each.first_offset, each.last_offset, each.delivery_count) for each in row.acquired_records]
    )


@pytest.mark.parametrize("version", [1, 2])
def test_a_session_begins_with_records(apis: ShareApis, version: int) -> None:
    response = apis.fetch(version=version)
    assert (response.error_code, response.acquisition_lock_timeout_ms) == (NONE, LOCK_MS)
    assert acquired(response) == [(0, 3, 1)]
    row = rows(response)[0]
    assert (row.error_code, row.acknowledge_error_code) == (NONE, NONE)
    assert bytes(row.records).endswith(b"3\x00")


def test_what_was_acknowledged_is_not_fetched_again(apis: ShareApis) -> None:
    apis.fetch()
    response = apis.fetch(said(0, 0, ACCEPT), said(1, 3, RELEASE, ACCEPT, RELEASE))
    assert acquired(response) == [(1, 1, 2), (3, 3, 2)]
    assert rows(response)[0].acknowledge_error_code == NONE


def test_what_is_said_is_told_of_though_there_is_nothing_to_fetch(apis: ShareApis) -> None:
    apis.fetch()
    waiting = apis.fetch(said(0, 3, ACCEPT))
    apis.fixture.clock.advance(500)
    row = rows(waiting.value)[0]
    assert (row.acknowledge_error_code, bytes(row.records), row.acquired_records) == (NONE, b"", [])


@pytest.mark.parametrize(
    "batches",
    [
        [said(3, 2, ACCEPT)],
        [said(2, 3, ACCEPT), said(0, 0, ACCEPT)],
        [said(0, 0)],
        [said(0, 3, ACCEPT, ACCEPT)],
        [said(0, 0, 5)],
        [said(0, 0, -1)],
        [said(0, 0, RENEW)],
    ],
)
def test_what_is_not_sound_is_refused(apis: ShareApis, batches: list[Any]) -> None:
    apis.fetch()
    waiting = apis.fetch(*batches)
    apis.fixture.clock.advance(500)
    assert rows(waiting.value)[0].acknowledge_error_code == ErrorCode.INVALID_REQUEST


def test_what_is_said_of_nothing_is_refused(apis: ShareApis) -> None:
    apis.fetch()
    waiting = apis.fetch(said(0, 0, ACCEPT), topic_id=b"\7" * 16)
    apis.fixture.clock.advance(500)
    assert rows(waiting.value)[0].acknowledge_error_code == ErrorCode.UNKNOWN_TOPIC_ID
    waiting = apis.fetch(said(0, 0, ACCEPT), partitions=(77,))
    apis.fixture.clock.advance(500)
    assert rows(waiting.value)[77].acknowledge_error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_renewal_fetches_nothing(apis: ShareApis) -> None:
    apis.fetch()
    apis.fixture.clock.advance(LOCK_MS - 1)
    nothing: dict[str, Any] = {"max_bytes": 0, "min_bytes": 0, "max_records": 0, "max_wait_ms": 0}
    apis.fixture.produce(b"4")
    response = apis.fetch(said(0, 3, RENEW), is_renew_ack=True, **nothing)
    assert rows(response)[0].acknowledge_error_code == NONE
    assert acquired(response) == []
    apis.fixture.clock.advance(LOCK_MS - 1)
    assert acquired(apis.fetch()) == [(4, 4, 1)]
    for name in nothing:
        wanted = {**nothing, name: 1}
        assert apis.fetch(is_renew_ack=True, epoch=9, **wanted).error_code == ErrorCode.INVALID_REQUEST


def test_no_more_than_asked_for_is_acquired_where_that_is_wanted(apis: ShareApis) -> None:
    assert acquired(apis.fetch(max_records=2, share_acquire_mode=1)) == [(0, 1, 1)]
    assert acquired(apis.fetch(max_records=1, version=1)) == [(2, 2, 1)]


def test_who_asks_has_a_name_and_may(apis: ShareApis) -> None:
    for fields in ({"group_id": None}, {"member_id": None}, {"member_id": ""}, {"member_id": "x" * 37}):
        assert apis.fetch(epoch=0, **fields).error_code == ErrorCode.INVALID_REQUEST
    apis.admit(Denying((Operation.READ, Resource.group(GROUP))))
    assert apis.fetch(epoch=0, member_id="").error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_topics_that_the_client_may_not_read_say_so(apis: ShareApis) -> None:
    apis.admit(Denying((Operation.READ, Resource.topic("topic"))))
    response = apis.fetch()
    assert rows(response)[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    response = apis.fetch(said(0, 0, ACCEPT))
    assert rows(response)[0].acknowledge_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(1, ErrorCode.SHARE_SESSION_NOT_FOUND), (-1, ErrorCode.SHARE_SESSION_NOT_FOUND)],
)
def test_without_a_session_there_is_none_to_go_on_with(apis: ShareApis, epoch: int, error: ErrorCode) -> None:
    assert apis.fetch(epoch=epoch).error_code == error


def test_a_session_goes_on_with_the_next_epoch(apis: ShareApis) -> None:
    apis.fetch()
    assert apis.fetch(epoch=5).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert apis.fetch(said(0, 0, ACCEPT), epoch=0).error_code == ErrorCode.INVALID_REQUEST
    apis.fixture.produce(b"4", index=1)
    apis.fetch(partitions=(1,))
    apis.fixture.produce(b"5", index=1)
    response = apis.fetch(partitions=())
    assert acquired(response, 1) == [(1, 1, 1)]


def test_the_last_epoch_gives_back_what_the_member_has(apis: ShareApis) -> None:
    apis.fetch()
    response = apis.fetch(said(0, 0, ACCEPT), epoch=-1)
    assert rows(response)[0].acknowledge_error_code == NONE
    assert acquired(apis.fetch(epoch=0, member_id="other")) == [(1, 3, 2)]


def test_a_connection_that_ends_gives_back_what_its_member_has(apis: ShareApis) -> None:
    other = Client()
    apis.fetch()
    waiting = apis.fetch(epoch=0, member_id="other", client=other)
    apis.client.leave()
    apis.fixture.clock.advance(0)
    assert acquired(waiting.value) == [(0, 3, 2)]
    assert len(apis.fixture.shares) == 1
    other.leave()
    assert (len(apis.sessions), len(apis.fixture.shares)) == (0, 0)


def test_a_connection_that_ends_takes_no_records_with_it(apis: ShareApis) -> None:
    """The end of a connection ends the wait of its fetch last, when its member has released its records."""
    other = Client()
    apis.fetch(epoch=0, member_id="other", client=other, partitions=(1,), max_wait_ms=0)
    waiting = apis.fetch(min_bytes=1 << 19)
    apis.client.leave()
    apis.interrupt()
    assert waiting.done
    fetched = apis.fetch(epoch=0, member_id="other", client=other)
    assert acquired(fetched) == [(0, 3, 1)]


def test_a_session_that_begins_anew_elsewhere_gets_the_records(apis: ShareApis) -> None:
    waiting = apis.fetch(min_bytes=1 << 19, max_wait_ms=100)
    again = apis.fetch(epoch=0, client=Client(), min_bytes=1 << 19, max_wait_ms=200)
    apis.fixture.clock.advance(100)
    assert (waiting.value.error_code, waiting.value.responses) == (ErrorCode.INVALID_SHARE_SESSION_EPOCH, [])
    apis.fixture.clock.advance(100)
    assert acquired(again.value) == [(0, 3, 1)]


def test_there_are_no_more_sessions_than_may_be(tmp_path: Path) -> None:
    apis = ShareApis(tmp_path, max_sessions=1)
    apis.fixture.produce(b"0")
    apis.fetch()
    refused = apis.fetch(epoch=0, member_id="other", max_wait_ms=100)
    assert not refused.done
    apis.fixture.clock.advance(100)
    assert refused.value.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED


def test_who_leads_instead_is_told(apis: ShareApis) -> None:
    apis.fixture.lead(OTHER, index=0)
    row = rows(apis.fetch())[0]
    assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert row.current_leader.leader_id == OTHER


def test_a_member_that_asks_again_meanwhile_loses_the_answer(apis: ShareApis) -> None:
    apis.fetch()
    waiting = apis.fetch(max_wait_ms=100)
    again = apis.fetch(client=Client())
    apis.fixture.clock.advance(99)
    apis.fixture.produce(b"4")
    apis.fixture.clock.advance(1)
    assert waiting.value.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert acquired(again.value) == [(4, 4, 1)]


def test_partitions_take_turns(apis: ShareApis) -> None:
    for index in (0, 1):
        for _ in range(6):
            apis.fixture.produce(b"x", index=index)
    apis.fetch(partitions=(0, 1), max_records=1)
    firsts = [
        [index for index in (0, 1) if acquired(response, index)]
        for response in (apis.fetch(partitions=(), max_records=1) for _ in range(4))
    ]
    assert {0, 1} == {index for first in firsts for index in first}


def test_a_cluster_without_share_groups(apis: ShareApis) -> None:
    apis.services.cluster.features = Finalized()
    assert apis.fetch().error_code == ErrorCode.UNSUPPORTED_VERSION
