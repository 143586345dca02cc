"""Records that were produced and offsets that were read during a test, as recorded requests and answers
show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.instrumentation.recording.entry import RecordedRequest
    from kcompat.testing.story.evidence import Evidence, Place


class Written(Struct, frozen=True):
    """Records that were appended to a partition in a test."""

    first: int
    """Offset of the first record."""
    count: int


class Read(Struct):
    """The offsets of a partition that clients have read."""

    begin: int
    end: int
    """Offset after the last record read."""

    def covers(self, first: int, end: int) -> bool:
        """Return whether everything from the offset `first` to `end` was read."""
        return self.begin <= first and end <= self.end

    def __str__(self) -> str:
        if self.begin == self.end:
            return f"clients wait at offset {self.end}"
        return f"clients read offsets {self.begin} to {self.end - 1}"


def produced(evidence: Evidence) -> dict[Place, Written]:
    """Return the records that were appended to each partition during the test."""
    found: dict[Place, Written] = {}
    for asked in evidence.requests:
        if asked.api != "Produce" or not asked.request or asked.is_waiting:
            continue
        answers = _answers(evidence, asked)
        for place, fields in _partitions(evidence, asked.request["topic_data"], "partition_data", "index"):
            answer = answers.get(place, {"error_code": 0, "base_offset": 0})  # acks=0 has no answer
            if not answer["error_code"] and (count := _count(fields["records"])):
                before = found.get(place, Written(answer["base_offset"], 0))
                found[place] = Written(min(before.first, answer["base_offset"]), before.count + count)
    return found


def _answers(evidence: Evidence, asked: RecordedRequest) -> dict[Place, dict[str, Any]]:
    """Return the fields of each partition in the answer to a Produce."""
    responses = (asked.response or {"responses": []})["responses"]
    return dict(_partitions(evidence, responses, "partition_responses", "index"))


def _count(batches: list[dict[str, Any]] | None) -> int:
    """Return the number of records in decoded batches; a message of an old format is one record."""
    return sum(each.get("record_count", 1) for each in batches or ())


def offsets_read(evidence: Evidence) -> dict[Place, Read]:
    """Return the range of offsets of each partition that clients have read: from the lowest offset that was
    fetched to the highest, or to the end of the log when the broker returned records.
    """
    found: dict[Place, Read] = {}
    for asked in evidence.in_test:
        if asked.api == "Fetch" and asked.request:
            for place, fields in _partitions(evidence, asked.request["topics"], "partitions", "partition"):
                _extend(found, place, fields["fetch_offset"], fields["fetch_offset"])
    for _, _, response in evidence.answered("Fetch", among=evidence.in_test):
        for place, fields in _rows_of_answer(evidence, response):
            if fields["records"] and place in found:
                _extend(found, place, found[place].begin, fields["high_watermark"])
    for _, _, response in evidence.answered("ShareFetch", among=evidence.in_test):
        for place, fields in _rows_of_answer(evidence, response):
            for each in fields["acquired_records"]:
                _extend(found, place, each["first_offset"], each["last_offset"] + 1)
    return found


def _extend(found: dict[Place, Read], place: Place, begin: int, end: int) -> None:
    read = found.setdefault(place, Read(begin, end))
    read.begin, read.end = min(read.begin, begin), max(read.end, end)


def started_at_the_end(evidence: Evidence) -> Iterator[tuple[RecordedRequest, Place, int]]:
    """Yield each ListOffsets request for the end of a partition whose client then read from that offset, with
    the partition and the offset.
    """
    fetched: dict[tuple[str | None, Place], int] = {}
    for asked in reversed(evidence.requests):  # so that the first fetch behind each question is known
        if not asked.request:
            continue
        if asked.api == "Fetch":
            for place, fields in _partitions(evidence, asked.request["topics"], "partitions", "partition"):
                fetched[asked.client_id, place] = fields["fetch_offset"]
        elif asked.api == "ListOffsets" and asked.response:
            ends = _ends_asked_for(evidence, asked)
            for place, fields in _partitions(
                evidence, asked.response["topics"], "partitions", "partition_index"
            ):
                if place in ends and fetched.get((asked.client_id, place)) == _offset(fields):
                    yield asked, place, _offset(fields)


def _ends_asked_for(evidence: Evidence, asked: RecordedRequest) -> set[Place]:
    rows = _partitions(evidence, (asked.request or {})["topics"], "partitions", "partition_index")
    return {place for place, fields in rows if fields["timestamp"] == -1}


def _offset(fields: dict[str, Any]) -> int:
    old = fields.get("old_style_offsets")
    return int(old[0] if old else fields.get("offset", -1))


def _rows_of_answer(evidence: Evidence, response: dict[str, Any]) -> Iterator[tuple[Place, dict[str, Any]]]:
    return _partitions(evidence, response["responses"], "partitions", "partition_index")


def _partitions(
    evidence: Evidence, topics: list[dict[str, Any]], rows: str, index: str
) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield each partition in a list of topics of a message, with its fields."""
    for topic in topics:
        name = evidence.topic_of(topic)
        for fields in topic[rows]:
            yield (name, fields[index]), fields
