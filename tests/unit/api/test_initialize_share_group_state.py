"""The handler of InitializeShareGroupState."""

from __future__ import annotations

import pytest

from kcompat.api import initialize_share_group_state
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.initialize_share_group_state import InitializeShareGroupStateRequest
from support.share_coordinators import KEY
from support.share_state_apis import ShareStateApi
from support.share_state_conformance import ShareStateConformance

NONE = ErrorCode.NONE


@pytest.fixture
def api() -> ShareStateApi:
    return ShareStateApi(
        initialize_share_group_state,
        InitializeShareGroupStateRequest,
        InitializeShareGroupStateRequest.InitializeStateData,
        InitializeShareGroupStateRequest.PartitionData,
    )


def test_share_partitions_begin_anew(api: ShareStateApi) -> None:
    rows = api.ask(0, 1, 1, state_epoch=3, start_offset=5)
    assert {index: row.error_code for index, row in rows.items()} == {0: NONE, 1: NONE}
    states = api.fixture.states()
    assert [states[key].start_offset for key in (KEY, KEY._replace(partition=1))] == [5, 5]
    row = api.ask(0, state_epoch=2)[0]
    assert row.error_code == ErrorCode.FENCED_STATE_EPOCH
    assert row.error_message == ErrorCode.FENCED_STATE_EPOCH.message
    assert api.ask(99)[99].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_without_rows_is_passed_over(api: ShareStateApi) -> None:
    assert api.ask_beside_an_empty_topic(0).keys() == {0}


class TestAsOfAllItsKind(ShareStateConformance):
    """The behaviour that all APIs of the share coordinator have in common."""
