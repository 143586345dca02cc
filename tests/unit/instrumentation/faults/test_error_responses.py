"""Responses with an error, for every API and version that a broker serves."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api.registry import SERVED
from kcompat.instrumentation.faults.error_responses import error_response
from kcompat.instrumentation.faults.targets import (
    has_errors_of_topics,
    names_partitions,
    names_topics,
    targets,
)
from kcompat.protocol.api_keys import ApiKey, request_class, response_class
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.plan import plan_message
from support.any_requests import AnyRequests, errors_in

ERROR = ErrorCode.KAFKA_STORAGE_ERROR
ALL_VERSIONS = [
    pytest.param(api.key, version, id=f"{api.key.name} {version}")
    for api in SERVED
    for version in range(api.min_version, api.max_version + 1)
]


NOWHERE = {(ApiKey.DESCRIBE_LOG_DIRS, version) for version in range(3)}
"""Versions whose response has error codes for directories alone, which the request does not name."""


@pytest.mark.parametrize("in_rows", [True, False])
@pytest.mark.parametrize(("key", "version"), ALL_VERSIONS)
def test_every_version_of_every_response_carries_an_error(key: ApiKey, version: int, in_rows: bool) -> None:
    """Where the request names partitions, each of them has its error; the bytes decode to the response."""
    request_plan = plan_message(request_class(key), version)
    plan = plan_message(response_class(key), version)
    for seed in range(3):
        request = AnyRequests(seed).make(request_plan)
        response = error_response(key, version, request, ERROR, in_rows=in_rows)
        data = b"".join(map(bytes, response.encode(version)))
        decoded = response_class(key).decode(memoryview(data), version)
        errors = list(errors_in(decoded, plan))
        assert set(errors) == {ERROR} if (key, version) not in NOWHERE else not errors
        if in_rows and names_topics(request_plan) and has_errors_of_topics(plan):
            wanted = sorted(targets(request, request_plan), key=str)
            assert len(errors) == len(wanted)
            if names_partitions(request_plan):
                assert sorted(targets(decoded, plan), key=str) == wanted


def test_an_error_of_the_request_has_the_place_that_kafka_gives_it() -> None:
    """`LeaveGroupRequest`, `OffsetFetchRequest` and `FetchRequest` in Kafka decide so by version."""
    error = ErrorCode.NOT_COORDINATOR

    def response_to(key: ApiKey, version: int) -> Any:
        request = AnyRequests(1).make(plan_message(request_class(key), version))
        return error_response(key, version, request, error, in_rows=False)

    assert response_to(ApiKey.LEAVE_GROUP, 5).error_code == error
    assert response_to(ApiKey.LEAVE_GROUP, 5).members == []
    assert response_to(ApiKey.OFFSET_FETCH, 1).topics[0].partitions[0].error_code == error
    assert response_to(ApiKey.OFFSET_FETCH, 5).error_code == error
    assert response_to(ApiKey.OFFSET_FETCH, 9).groups[0].error_code == error
    assert response_to(ApiKey.FETCH, 4).responses[0].partitions[0].error_code == error
    assert response_to(ApiKey.FETCH, 13).error_code == error
    assert response_to(ApiKey.FETCH, 13).responses == []


def test_fields_that_a_failed_request_cannot_fill_say_so() -> None:
    def row_of(key: ApiKey, version: int) -> Any:
        request = AnyRequests(1).make(plan_message(request_class(key), version))
        return error_response(key, version, request, ERROR, in_rows=True)

    produced = row_of(ApiKey.PRODUCE, 9).responses[0].partition_responses[0]
    assert (produced.base_offset, produced.log_append_time_ms, produced.log_start_offset) == (-1, -1, -1)
    assert produced.error_message == ERROR.message
    fetched = row_of(ApiKey.FETCH, 11).responses[0].partitions[0]
    assert (fetched.high_watermark, fetched.last_stable_offset, fetched.records) == (-1, -1, b"")
    assert row_of(ApiKey.OFFSET_FETCH, 1).topics[0].partitions[0].committed_offset == -1
    assert row_of(ApiKey.FIND_COORDINATOR, 4).coordinators[0].node_id == -1
    assert row_of(ApiKey.INIT_PRODUCER_ID, 3).producer_epoch == -1
