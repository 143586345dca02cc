"""A blocking consumer: fetches from the leaders of its partitions, and remembers which records it has
returned.

It reads the partitions of a group's assignment, or one partition from an offset. Kafka's counterparts:
`KafkaConsumer`, `Fetcher` and `SubscriptionState`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from kcompat.admin.connection import LostConnectionError, Versioned
from kcompat.admin.errors import JavaError, error_of_code, kafka_error
from kcompat.admin.offsets import list_offsets
from kcompat.admin.waiting import pause
from kcompat.commands.console.consumed import seen_records
from kcompat.commands.offsets import Offset, committed_offsets
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.records.errors import RecordsDamaged
from kcompat.topics import by_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.admin.client import AdminClient
    from kcompat.admin.connection import BrokerConnection, Pending
    from kcompat.commands.console.consumed import Consumed
    from kcompat.commands.console.consumer_settings import ConsumerSettings
    from kcompat.commands.console.member import Member
    from kcompat.commands.console.topic_view import TopicView
    from kcompat.protocol.messages.fetch import FetchResponse
    from kcompat.topics import TopicPartition

_LAST_WITH_NAMES: Final = 12
_SHORTEST_S: Final = 0.1
"""Seconds that a poll has at the least for the requests before the first fetch."""


class Consumer:
    """Consumer of some partitions. `close` commits and leaves the group."""

    def __init__(
        self, admin: AdminClient, topics: TopicView, settings: ConsumerSettings, group: Member | None
    ) -> None:
        """Prepare the consumer. Without a group, `assign` chooses the partition to read."""
        self._admin = admin
        self._topics = topics
        self._settings = settings
        self._group = group
        self._assigned: list[TopicPartition] = []
        self._positions: dict[TopicPartition, Offset] = {}
        self._not_given: dict[TopicPartition, Offset] = {}  # the first record of each that came, to commit
        self._starts: dict[TopicPartition, int] = {}
        self._next_commit = time.monotonic() + settings.commit_interval_ms / 1000
        self._next_refresh = 0.0

    def assign(self, partition: TopicPartition, start: int) -> None:
        """Read one partition from an offset on, or from one of `At`."""
        self._assigned = [partition]
        if start >= 0:
            self._positions[partition] = Offset(start)
        else:
            self._starts = {partition: start}

    def poll(self, end: float) -> list[Consumed]:
        """Return the next records; none if none has come by `end`, in the time of `time.monotonic`.

        Raises:
            JavaError: the group or a broker refuses the request, or records are damaged.
            StoppedError: a signal has ended the wait.
        """
        with self._admin.ending_at(max(end, time.monotonic() + _SHORTEST_S)):
            while True:
                try:
                    self._attend()
                    records = self._fetch(end)
                except JavaError as error:
                    if error.code != ErrorCode.REQUEST_TIMED_OUT:
                        raise
                    records = []
                if records or time.monotonic() >= end:
                    return records

    def gave(self, count: int, records: list[Consumed]) -> None:
        """Mark the first `count` records of the last `poll` as returned to the user, so that positions behind
        them may be committed.

        The position of a partition without further records also passes markers and aborted records; otherwise
        it stays at the first record that is left.
        """
        left: dict[TopicPartition, Offset] = {}
        for record in records[count:]:
            left.setdefault((record.topic, record.partition), Offset(record.offset))
        self._not_given = left

    def close(self) -> None:
        """Commit the positions behind the returned records, and leave the group."""
        if self._group is not None:
            self._commit()
            self._group.leave()

    # The group

    def _attend(self) -> None:
        """Renew the session, the metadata and the assignment, and commit, where it is time for that."""
        now = time.monotonic()
        if now >= self._next_refresh:
            self._topics.refresh()
            self._next_refresh = now + self._settings.metadata_max_age_ms / 1000
        if self._group is not None:
            self._group.heartbeat()
            if now >= self._next_commit:
                self._commit()
            if self._group.must_join:
                self._commit()
                self._assigned = self._group.join()
                for left in (self._positions, self._not_given):
                    for each in left.keys() - self._group.kept:
                        del left[each]
        self._find_positions()

    def _commit(self) -> None:
        self._next_commit = time.monotonic() + self._settings.commit_interval_ms / 1000
        if self._group is not None and self._settings.commits:
            self._group.commit(self._positions | self._not_given)

    def _find_positions(self) -> None:
        """Find the start position of each partition: its committed offset, or else the offset that
        `auto.offset.reset` chooses.
        """
        lacking = [each for each in self._assigned if each not in self._positions]
        if not lacking:
            return
        if self._group is not None:
            committed = committed_offsets(self._admin, self._settings.group.group_id)
            for each in lacking:
                if each in committed:
                    self._positions[each] = committed[each]
        self._reset([each for each in lacking if each not in self._positions])

    def _reset(self, partitions: list[TopicPartition]) -> None:
        """Set partitions to the position that `auto.offset.reset` chooses, except partitions without a
        leader.
        """
        led = [each for each in partitions if self._leader(each) >= 0]
        if len(led) < len(partitions):
            self._next_refresh = 0.0
        starts = {each: self._starts.get(each, self._settings.reset) for each in led}
        refused = [each for each, start in starts.items() if start is None]
        if refused:
            raise JavaError(
                "NoOffsetForPartitionException",
                "Undefined offset with no reset policy for partitions: "
                f"[{', '.join(f'{topic}-{index}' for topic, index in refused)}]",
                package="org.apache.kafka.clients.consumer.",
            )
        wanted = {each: start for each, start in starts.items() if start is not None}
        isolation = self._settings.isolation
        for each, found in list_offsets(self._admin, wanted, isolation_level=isolation).items():
            if isinstance(found, JavaError):
                self._next_refresh = 0.0
            else:
                self._positions[each] = Offset(found.offset)
                self._starts.pop(each, None)

    def _leader(self, partition: TopicPartition) -> int:
        topic, index = partition
        return self._topics.leaders.get(topic, {}).get(index, -1)

    # Fetching

    def _fetch(self, end: float) -> list[Consumed]:
        """Ask each leader for records, and return them in the order of the partitions."""
        by_leader: dict[int, list[TopicPartition]] = {}
        for each in self._assigned:
            leader = self._leader(each)
            if leader >= 0 and each in self._positions:
                by_leader.setdefault(leader, []).append(each)
        if not by_leader:
            self._next_refresh = 0.0
            pause(min(self._settings.retry_backoff_ms / 1000, end - time.monotonic()))
            return []
        wait_ms = round(max(0, min(self._settings.fetch_max_wait_ms, 1000 * (end - time.monotonic()))))
        requests = {leader: self._request(partitions, wait_ms) for leader, partitions in by_leader.items()}
        found: list[Consumed] = []
        for response in self._responses(requests, wait_ms + self._settings.request_timeout_ms):
            if response.error_code:
                raise error_of_code(response.error_code)
            for topic in response.responses:
                for row in topic.partitions:
                    found += self._take((topic.topic, row.partition_index), row)
        return found

    def _responses(self, requests: dict[int, Versioned], timeout_ms: int) -> Iterator[FetchResponse]:
        """Yield the responses of the brokers that answer; if one does not, request the metadata again."""
        sent: list[tuple[BrokerConnection, Pending]] = []
        is_lost = False
        for leader, request in requests.items():
            try:
                connection = self._admin.connection(leader)
                sent.append((connection, connection.send(request)))
            except LostConnectionError:
                is_lost = True
        for connection, pending in sent:
            try:
                yield connection.wait(pending, min(timeout_ms, self._admin.left_ms))
            except LostConnectionError:
                is_lost = True
        if is_lost:
            self._next_refresh = 0.0
            pause(self._settings.retry_backoff_ms / 1000)

    def _request(self, partitions: list[TopicPartition], wait_ms: int) -> Versioned:
        settings = self._settings
        topics = [
            FetchRequest.FetchTopic(
                topic,
                partitions=[
                    FetchRequest.FetchPartition(
                        index,
                        fetch_offset=self._positions[topic, index].offset,
                        partition_max_bytes=settings.partition_max_bytes,
                    )
                    for index in indexes
                ],
            )
            for topic, indexes in by_topic(partitions)
        ]
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes,
            isolation_level=settings.isolation,
            topics=topics,
        )
        return Versioned(ApiKey.FETCH, lambda _: request, _LAST_WITH_NAMES)

    def _take(self, partition: TopicPartition, row: FetchResponse.PartitionData) -> list[Consumed]:
        """Return the records of a partition, and move its position behind them. Raises JavaError."""
        if row.error_code:
            self._failed(partition, error_of(row.error_code))
            return []
        if not row.records:
            return []
        start = self._positions[partition].offset
        aborted = [(each.producer_id, each.first_offset) for each in row.aborted_transactions or ()]
        try:
            records: list[Consumed] = []
            for batch, position in seen_records(
                partition, row.records, aborted, checks_crcs=self._settings.checks_crcs
            ):
                records += [record for record in batch if record.offset >= start]
                if records:  # a signal may end the command from here on: never commit what is not printed
                    self._not_given.setdefault(partition, Offset(records[0].offset))
                if position.offset > start:
                    self._positions[partition] = position
        except RecordsDamaged as damage:
            topic, index = partition
            raise kafka_error(
                f"Received exception when fetching the next record from {topic}-{index}. If needed, please "
                f"seek past the record to continue consumption. ({damage})"
            ) from damage
        return records

    def _failed(self, partition: TopicPartition, code: ErrorCode) -> None:
        """Handle the error of a partition. Raises JavaError if a retry cannot help."""
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._reset([partition])
        elif code.retriable:
            self._next_refresh = 0.0
            pause(self._settings.retry_backoff_ms / 1000)
        elif code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise JavaError(
                "TopicAuthorizationException", f"Not authorized to access topics: [{partition[0]}]", code
            )
        else:
            raise error_of_code(code)
