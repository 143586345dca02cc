"""Heartbeats that make no sense, whatever the group is like."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.protocol.errors import ErrorCode
from support.streams_groups import STATEFUL, STATELESS, StreamsGroupFixture, reads, topology


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"instance_id": "i"}, "Static membership is not yet supported."),
        ({"tells_offsets": True}, "TaskOffsets are not supported yet."),
        ({"tells_end_offsets": True}, "TaskEndOffsets are not supported yet."),
        ({"warmup": {"0": frozenset({0})}}, "WarmupTasks are not supported yet."),
        (
            {"topology": topology(reads("t", source_topic_regex=("a.*",)))},
            "Regular expressions for source topics are not supported yet.",
        ),
        ({"member_id": " "}, "MemberId can't be empty."),
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"active": {"0": frozenset({0})}}, "ActiveTasks must be empty when (re-)joining."),
        ({"active": None}, "ActiveTasks must be empty when (re-)joining."),
        ({"standby": None}, "StandbyTasks must be empty when (re-)joining."),
        ({"warmup": None}, "WarmupTasks must be empty when (re-)joining."),
        ({"topology": None}, "Topology must be non-null when (re-)joining."),
        ({"epoch": -2}, "InstanceId can't be null."),
        ({"epoch": -3}, "MemberEpoch is -3, but must be greater than or equal to -2."),
        ({"epoch": 1}, "Topology can only be provided when (re-)joining."),
        ({"epoch": 1, "standby": None}, "If one task-type is non-null, all must be non-null."),
    ],
)
def test_what_makes_no_sense_is_refused(
    fixture: StreamsGroupFixture, fields: dict[str, Any], message: str
) -> None:
    wanted = {
        "member_id": "a",
        "epoch": 0,
        "topology": STATELESS,
        "rebalance_timeout_ms": 1,
        "active": {},
        "standby": {},
        "warmup": {},
        **fields,
    }
    answer = fixture.stream(**wanted)
    assert (answer.error, answer.message) == (ErrorCode.INVALID_REQUEST, message)


def test_a_changelog_does_not_say_how_many_partitions(fixture: StreamsGroupFixture) -> None:
    (log,) = STATEFUL.subtopologies["0"].state_changelog_topics
    wrong = topology(reads("t", state_changelog_topics=(type(log)("log", 3),)))
    answer = fixture.enter_streams("a", wrong)
    assert answer.error == ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert answer.message == "Changelog topic log must have an undefined partition count, but it is set to 3."
