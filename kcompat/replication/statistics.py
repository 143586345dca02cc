"""Counts of what the partitions of a broker have served, by topic (Kafka's `BrokerTopicStats`).

The counts are plain integers that only grow. Partitions and handlers add to them for each batch or request,
never for each record. As in Kafka, the counts of a topic end with its last partition on this broker, and the
totals over all topics keep what it had counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPECTED: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""Errors of a produce that do not count as failures, as in Kafka's `ReplicaManager.appendToLocalLog`."""

EXPECTED_OF_FETCHES: Final = EXPECTED | {
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
}
"""Errors of a fetch that do not count as failures, as in Kafka's `ReplicaManager.readFromLog` and its
callers.
"""


class TopicStatistics:
    """Counts of one topic, or their totals."""

    __slots__ = (
        "bytes_copied",
        "bytes_in",
        "bytes_out",
        "bytes_rejected",
        "bytes_to_followers",
        "failed_fetches",
        "failed_produces",
        "fetch_conversions",
        "fetches",
        "messages_in",
        "produce_conversions",
        "produces",
    )

    def __init__(self) -> None:
        self.messages_in = 0
        """Records that this broker appended as a leader."""
        self.bytes_in = 0
        """Bytes of the batches with these records, as stored."""
        self.bytes_out = 0
        """Bytes of records in responses to consumers."""
        self.bytes_rejected = 0
        """Bytes of batches that were refused for their size."""
        self.bytes_copied = 0
        """Bytes of records that this broker fetched as a follower."""
        self.bytes_to_followers = 0
        """Bytes of records in responses to followers."""
        self.produces = 0
        """Batches to append, one for each partition of a produce request."""
        self.failed_produces = 0
        """Batches that were refused with an error outside `EXPECTED`."""
        self.fetches = 0
        """Reads of a partition for a fetch, repeated ones of a waiting fetch included."""
        self.failed_fetches = 0
        """Reads that were answered with an error outside `EXPECTED_OF_FETCHES`."""
        self.produce_conversions = 0
        """Records that arrived in a format before batches v2."""
        self.fetch_conversions = 0
        """Records that were converted to such a format for consumers."""

    def note_conversion(self, records: int) -> None:
        """Count records that a consumer is sent in a format before batches v2."""
        self.fetch_conversions += records

    def note_append(self, records: int, size: int) -> None:
        """Count a batch of `size` bytes that was appended, or that the log had already."""
        self.produces += 1
        self.messages_in += records
        self.bytes_in += size

    def note_refusal(self, error: ErrorCode, size: int = 0) -> None:
        """Count a batch that was not appended because of `error`. `size` is the size of the batch, None if it
        was not checked.
        """
        self.produces += 1
        if error == ErrorCode.MESSAGE_TOO_LARGE:
            self.bytes_rejected += size
        if error not in EXPECTED:
            self.failed_produces += 1

    def add(self, other: TopicStatistics) -> None:
        """Add the counts of another topic."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Statistics:
    """Counts of all partitions of one broker."""

    def __init__(self) -> None:
        self._topics: dict[str, TopicStatistics] = {}
        self._former = TopicStatistics()

    def of(self, topic: str) -> TopicStatistics:
        """Return the counts of a topic, new ones if it has none."""
        found = self._topics.get(topic)
        if found is None:
            found = self._topics[topic] = TopicStatistics()
        return found

    def find(self, topic: str) -> TopicStatistics | None:
        """Return the counts of a topic, or None if this broker has no partition of it."""
        return self._topics.get(topic)

    def forget(self, topic: str) -> None:
        """End the counts of a topic, of which this broker has no partition any more."""
        found = self._topics.pop(topic, None)
        if found is not None:
            self._former.add(found)

    def __iter__(self) -> Iterator[tuple[str, TopicStatistics]]:
        return iter(self._topics.items())

    def total(self) -> TopicStatistics:
        """Return the counts over all topics, former ones included."""
        total = TopicStatistics()
        total.add(self._former)
        for each in self._topics.values():
            total.add(each)
        return total
