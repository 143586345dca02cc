"""The handler of DeleteShareGroupState."""

from __future__ import annotations

import pytest

from kcompat.api import delete_share_group_state
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.delete_share_group_state import DeleteShareGroupStateRequest
from support.share_coordinators import KEY
from support.share_state_apis import ShareStateApi
from support.share_state_conformance import EmptyTopicConformance

NONE = ErrorCode.NONE


@pytest.fixture
def api() -> ShareStateApi:
    return ShareStateApi(
        delete_share_group_state,
        DeleteShareGroupStateRequest,
        DeleteShareGroupStateRequest.DeleteStateData,
        DeleteShareGroupStateRequest.PartitionData,
    )


def test_share_partitions_are_forgotten(api: ShareStateApi) -> None:
    api.fixture.coordinator.initialize(KEY, 3, 5)
    rows = api.ask(0, 1)
    assert {index: row.error_code for index, row in rows.items()} == {0: NONE, 1: NONE}
    assert api.fixture.states() == {}
    assert api.ask(99)[99].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class TestAsOfAllItsKind(EmptyTopicConformance):
    """The behaviour that all APIs of the share coordinator have in common."""
