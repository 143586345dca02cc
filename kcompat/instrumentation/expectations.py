"""Records that a test expects clients to write to a topic, and the error text if other records arrive."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.errors import UsageError
from kcompat.instrumentation.reading import Cursor, Isolation, check_isolation, check_whole_number
from kcompat.instrumentation.shown import lines_of
from kcompat.topics import is_internal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcompat.instrumentation.brokers import Brokers
    from kcompat.instrumentation.records import Record


class Wanted(Struct, frozen=True):
    """The records that a test expects: exactly `count` in a topic, or `at_least` as many."""

    topic: str
    count: int | None
    at_least: int | None
    timeout_s: float
    where: Callable[[Record], bool] | None
    """Function that returns whether a record counts; None if every record does."""
    isolation: Isolation

    def check(self) -> None:
        """Raise UsageError if an argument is not valid."""
        if self.count is None and self.at_least is None:
            raise UsageError("the number of records is missing: give count or at_least")
        if self.count is not None and self.at_least is not None:
            raise UsageError(
                f"count={self.count!r} and at_least={self.at_least!r} contradict each other: give one"
            )
        if not isinstance(self.topic, str):
            raise UsageError(f"topic={self.topic!r} is not the name of a topic: use text")
        if self.where is not None and not callable(self.where):
            raise UsageError(f"where={self.where!r} is no function: use one that takes a record")
        check_whole_number("count" if self.at_least is None else "at_least", self.least)
        if not isinstance(self.timeout_s, (int, float)) or not self.timeout_s >= 0:
            raise UsageError(f"timeout={self.timeout_s!r} is not possible: use a number of seconds")
        check_isolation(self.isolation)

    @property
    def least(self) -> int:
        """The number of records to wait for."""
        return (self.count if self.at_least is None else self.at_least) or 0

    def __str__(self) -> str:
        number = f"{self.least} record{'' if self.least == 1 else 's'}"
        quantity = f"at least {number}" if self.count is None else number
        return f"{quantity} in {self.topic!r}" + (" that pass `where`" if self.where else "")


async def begin(brokers: Brokers, wanted: Wanted) -> Expectation:
    """Return an expectation of records that are written from now on."""
    async with brokers.steady():
        return Expectation(brokers, wanted)


class Expectation:
    """The records that are written to a topic after a point in time. All methods belong to the loop of the
    brokers.
    """

    def __init__(self, brokers: Brokers, wanted: Wanted) -> None:
        """Begin at the current ends of the logs."""
        self._brokers = brokers
        self._wanted = wanted
        self._began_at = _ends(brokers)
        self._cursors: dict[tuple[bytes, int], Cursor] = {}
        self._found: list[Record] = []
        self._others: list[Record] = []
        """Records that arrived and do not count."""

    @property
    def found(self) -> list[Record]:
        """The records that arrived and count, by partition and offset."""
        return sorted(self._found, key=_place)

    async def complaint(self) -> str | None:
        """Wait until as many records as wanted have arrived, and return None; or return the error text if
        there are more, or too few at the timeout.
        """
        wanted = self._wanted
        with suppress(TimeoutError):
            async with asyncio.timeout(wanted.timeout_s):
                while await self._read() < wanted.least:
                    await self._brokers.until(self._is_behind, wanted.topic)
        came = await self._read()
        if came == wanted.least or (came > wanted.least and wanted.count is None):
            return None
        return "\n".join(self._complaint(came))

    async def _read(self) -> int:
        """Read the records that consumers can read now; return the number of those that count."""
        counts = self._wanted.where or (lambda _: True)
        for cursor in self._all_cursors():
            while self._is_readable(cursor):
                for record in cursor.read(self._brokers):
                    (self._found if counts(record) else self._others).append(record)
                await asyncio.sleep(0)  # let the broker serve its clients
        return len(self._found)

    def _is_behind(self) -> bool:
        return any(map(self._is_readable, self._all_cursors()))

    def _is_readable(self, cursor: Cursor) -> bool:
        """Return whether a partition has a leader and unread records."""
        has_leader = self._brokers.home_of(cursor.topic, cursor.index) is not None
        return has_leader and cursor.position < cursor.end(self._brokers)

    def _all_cursors(self) -> list[Cursor]:
        """Return a cursor for each partition that the topic has now. A topic that was deleted and created
        again counts as a new, empty one.
        """
        topic = self._brokers.image.topics.get(self._wanted.topic)
        if topic is None:
            return []
        for index in topic.partitions:
            key = topic.topic_id, index
            if key not in self._cursors:
                begin = self._began_at.get((topic.name, *key), 0)
                self._cursors[key] = Cursor(topic.name, index, self._wanted.isolation, begin)
        return [self._cursors[topic.topic_id, index] for index in topic.partitions]

    def _complaint(self, came: int) -> Iterator[str]:
        wanted = self._wanted
        limit = f" within {wanted.timeout_s:g} s" if came < wanted.least else ""
        yield f"expected {wanted}{limit}, but {came or 'none'} came" + (":" if came else "")
        yield from map(_indented, lines_of(self.found))
        if self._others:
            yield f"{len(self._others)} came that `where` does not pass:"
            yield from map(_indented, lines_of(sorted(self._others, key=_place)))
        if wanted.topic not in self._brokers.image.topics:
            yield f"there is no topic {wanted.topic!r}"
        elsewhere = self._elsewhere()
        if elsewhere:
            counts = ", ".join(f"{name!r} ({count})" for name, count in sorted(elsewhere.items()))
            yield f"records came in other topics: {counts}"
        pending = sum(self._unstable(cursor) for cursor in self._all_cursors())
        if pending and wanted.isolation == "read_committed":
            yield f"{pending} offsets wait for the end of a transaction"

    def _elsewhere(self) -> Counter[str]:
        """Return the number of new offsets in each other topic; Kafka's internal topics are left out."""
        grown: Counter[str] = Counter()
        for (name, topic_id, index), end in _ends(self._brokers).items():
            grown[name] += max(0, end - self._began_at.get((name, topic_id, index), 0))
        return Counter(
            {
                name: count
                for name, count in grown.items()
                if count and name != self._wanted.topic and not is_internal(name)
            }
        )

    def _unstable(self, cursor: Cursor) -> int:
        home = self._brokers.home_of(cursor.topic, cursor.index)
        return 0 if home is None else home[1].high_watermark - home[1].last_stable_offset


def _ends(brokers: Brokers) -> dict[tuple[str, bytes, int], int]:
    """Return the log end offset of each partition, by name and id of the topic and index."""
    ends: dict[tuple[str, bytes, int], int] = {}
    for topic in brokers.image.topics.values():
        for replica in brokers.replicas(topic.name):
            key = topic.name, topic.topic_id, replica.index
            ends[key] = max(replica.log.log_end_offset, ends.get(key, 0))
    return ends


def _place(record: Record) -> tuple[int, int]:
    return record.partition, record.offset


def _indented(line: str) -> str:
    return f"  {line}"
