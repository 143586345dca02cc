"""The handler of ReadShareGroupStateSummary."""

from __future__ import annotations

import pytest

from kcompat.api import read_share_group_state_summary
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.read_share_group_state_summary import ReadShareGroupStateSummaryRequest
from support.share_coordinators import KEY
from support.share_state_apis import ShareStateApi
from support.share_state_conformance import EmptyTopicConformance

NONE = ErrorCode.NONE


@pytest.fixture
def api() -> ShareStateApi:
    return ShareStateApi(
        read_share_group_state_summary,
        ReadShareGroupStateSummaryRequest,
        ReadShareGroupStateSummaryRequest.ReadStateSummaryData,
        ReadShareGroupStateSummaryRequest.PartitionData,
    )


@pytest.mark.parametrize("version", [0, 1])
def test_share_partitions_are_summed_up(api: ShareStateApi, version: int) -> None:
    api.fixture.coordinator.initialize(KEY, 3, 5)
    api.fixture.coordinator.read(KEY, 4)
    rows = api.ask(0, 1, version=version, leader_epoch=0)
    row = rows[0]
    assert (row.error_code, row.state_epoch, row.leader_epoch, row.start_offset) == (NONE, 3, 4, 5)
    assert row.delivery_complete_count == (0 if version else -1)
    assert (rows[1].error_code, rows[1].start_offset) == (NONE, -1)


class TestAsOfAllItsKind(EmptyTopicConformance):
    """The behaviour that all APIs of the share coordinator have in common."""
