"""Answers compared field by field."""

from __future__ import annotations

from typing import Any

from kcompat.instrumentation.recording.decoding import batches_in
from kcompat.instrumentation.replay.comparing import Comparison
from kcompat.instrumentation.replay.correspondence import Correspondence
from kcompat.records.batch import build_batch
from kcompat.records.record import Record

RECORDED_MS, NOW_MS = 1_000_000_000_000, 1_700_000_000_000


def differences(
    recorded: dict[str, Any], new: dict[str, Any], ids: Correspondence | None = None
) -> list[str]:
    comparison = Comparison(ids or Correspondence())
    return [str(each) for each in comparison.differences(recorded, new, (RECORDED_MS, NOW_MS), "g")]


def test_a_field_that_differs_is_told_with_its_path() -> None:
    recorded = {"responses": [{"name": "t", "partitions": [{"index": 0, "error_code": 0, "base_offset": 3}]}]}
    new = {"responses": [{"name": "t", "partitions": [{"index": 0, "error_code": 10, "base_offset": 3}]}]}
    assert differences(recorded, recorded) == []
    assert differences(recorded, new) == [
        "responses[0].partitions[0].error_code: recorded NONE, now MESSAGE_TOO_LARGE"
    ]


def test_an_array_of_another_length_is_one_difference() -> None:
    assert differences({"topics": [{"name": "a"}]}, {"topics": []}) == [
        "topics (number of elements): recorded 1, now 0"
    ]


def test_the_order_of_structs_does_not_matter_and_that_of_values_does() -> None:
    assert differences({"t": [{"name": "a"}, {"name": "b"}]}, {"t": [{"name": "b"}, {"name": "a"}]}) == []
    assert differences({"t": [1, 2]}, {"t": [2, 1]}) == ["t[0]: recorded 1, now 2", "t[1]: recorded 2, now 1"]


def test_what_is_the_brokers_own_is_not_compared() -> None:
    recorded = {"throttle_time_ms": 0, "host": "a", "port": 1, "only_then": 1}
    assert differences(recorded, {"throttle_time_ms": 9, "host": "b", "port": 2, "only_now": 1}) == []


def test_of_a_text_is_compared_whether_there_is_one() -> None:
    assert differences({"error_message": "No such topic"}, {"error_message": "unknown topic"}) == []
    assert differences({"error_message": "No such topic"}, {"error_message": None}) != []


def test_times_of_both_moments_are_the_same() -> None:
    assert differences({"expiry": RECORDED_MS + 1000}, {"expiry": NOW_MS + 3000}) == []
    assert differences({"expiry": RECORDED_MS}, {"expiry": RECORDED_MS + 1}) != []
    assert differences({"expiry": -1}, {"expiry": NOW_MS}) != []


def test_ids_must_correspond_in_all_answers() -> None:
    ids = Correspondence()
    assert differences({"producer_id": 1}, {"producer_id": 50}, ids) == []
    assert differences({"producer_id": 1}, {"producer_id": 51}, ids) == ["producer_id: recorded 1, now 51"]


def test_structs_are_paired_by_the_ids_that_are_known() -> None:
    ids = Correspondence()
    ids.agree(("topic",), "old-a", "new-z")
    ids.agree(("topic",), "old-b", "new-y")
    recorded = {"topics": [{"topic_id": "old-a", "offset": 1}, {"topic_id": "old-b", "offset": 2}]}
    new = {"topics": [{"topic_id": "new-y", "offset": 2}, {"topic_id": "new-z", "offset": 1}]}
    assert differences(recorded, new, ids) == []
    new["topics"][0]["offset"] = 3
    (difference,) = differences(recorded, new, ids)
    assert difference.endswith(".offset: recorded 2, now 3")


def records(*batches: list[bytes], **options: Any) -> dict[str, Any]:
    """A fetched partition."""
    data, offset = b"", 0
    for values in batches:
        batch = bytearray(build_batch([Record(0, 1000, None, value) for value in values], **options))
        batch[:8] = offset.to_bytes(8, "big")
        data += batch
        offset += len(values)
    return {"records": batches_in(data)}


def test_records_are_compared_whatever_their_batches() -> None:
    assert differences(records([b"1", b"2"]), records([b"1"], [b"2"])) == []
    assert differences(records([b"1", b"2"]), records([b"1", b"3"])) == [
        "records[1].value: recorded b'2', now b'3'"
    ]
    assert differences(records([b"1"]), records([b"1", b"2"])) == [
        "records (number of records): recorded 1, now 2"
    ]


def test_records_that_were_left_out_are_not_compared() -> None:
    assert differences({"records": batches_in(bytes(500))}, records([b"1"])) == []
