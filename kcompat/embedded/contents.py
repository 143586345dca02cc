"""Methods of `Broker` and `Cluster` that read topics and groups and add records, without a client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from kcompat.embedded.expecting import Expecting
    from kcompat.embedded.settings import Settings
    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.brokers import Brokers
    from kcompat.instrumentation.groups import Group
    from kcompat.instrumentation.new_records import AddedRecord, Content, Headers, NewRecord
    from kcompat.instrumentation.reading import Isolation
    from kcompat.instrumentation.records import Record
    from kcompat.instrumentation.topics import Topic


class Contents(ABC):
    """Base class of running brokers, with methods for their topics and groups."""

    @abstractmethod
    def _brokers(self) -> tuple[LoopThread, Brokers]:
        """Return the thread of the brokers, and the running brokers. Raises UsageError if not started."""

    def add(
        self,
        topic: str,
        value: Content,
        key: Content = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp: int | datetime | None = None,
    ) -> AddedRecord:
        """Append a record to a topic, and return its place once all in-sync replicas have it.

        `value` and `key` are bytes, text that is written as UTF-8, a dict or list that is written as JSON, or
        None for null: a record without a value is a tombstone. `headers` is a dict, or pairs of name and
        value. The record goes to the `partition`, or to the one that a Java producer chooses by the key;
        without a key, to the one that ends at the lowest offset. `timestamp` is a `datetime`, or milliseconds
        since 1970 (not seconds as of `time.time()`), by default the current time.

        The leader checks the record as it checks a client's, and wakes the clients that wait for it. A topic
        that does not exist is created if `auto.create.topics.enable` is set. ACLs and quotas do not apply.

        Raises:
            UsageError: an argument is not valid, or the topic does not exist and is not created.
            RequestError: a broker refuses the record, for instance as it is larger than `max.message.bytes`,
                or is killed before it confirms it; or the partition has no leader, and none is elected.
            TimeoutError: the in-sync replicas do not have the record after 30 seconds.
        """
        from kcompat.instrumentation.new_records import NewRecord

        return self.add_all(topic, [NewRecord(value, key, headers, partition, timestamp)])[0]

    def add_all(
        self, topic: str, records: Iterable[NewRecord | tuple[Content, Content] | Content]
    ) -> list[AddedRecord]:
        """Append records to a topic in as few batches as possible, and return their places in the same order.

        Each record is a value, a tuple (key, value), or a `NewRecord`. If a batch is refused, the batches
        before it stay. Raises the errors of `add`.
        """
        from kcompat.instrumentation.adding import add_records
        from kcompat.instrumentation.new_records import all_prepared

        thread, brokers = self._brokers()
        return thread.call(add_records(brokers, topic, all_prepared(records)))

    def records(
        self,
        topic: str,
        partition: int | None = None,
        isolation: Isolation = "read_uncommitted",
        *,
        start: int = 0,
        limit: int | None = None,
    ) -> list[Record]:
        """Return the records that consumers can read from a topic now, by partition and offset.

        With the isolation `read_committed`, records of transactions that were aborted or are still open are
        left out. Control records are always left out. `start` is the lowest offset of each partition, and
        `limit` the largest number of records: it is required for a topic with more than 100,000 records.

        Raises:
            UsageError: there is no such topic or partition, an argument is not valid, or there are more than
                100,000 records and no `limit`.
            RequestError: a partition has no leader, or cannot be read.
        """
        from kcompat.instrumentation.reading import read_topic

        thread, brokers = self._brokers()
        return thread.call(read_topic(brokers, topic, partition, isolation, start=start, limit=limit))

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        *,
        replication_factor: int | None = None,
        config: Settings | None = None,
    ) -> Topic:
        """Create a topic, and return its description once clients can use it.

        `config` has Kafka's keys of topics, such as `{"cleanup.policy": "compact"}`. Settings that are not
        given have the values of the brokers' configuration: `num.partitions`, `default.replication.factor`
        and so on.

        Raises:
            UsageError: the name or a number is not valid, or the brokers are not started.
            ConfigError: topics have no such key.
            RequestError: the brokers refuse it, for instance since the topic exists.
            TimeoutError: the partitions have no leaders after 30 seconds.
        """
        from kcompat.embedded.first_topics import read_topic
        from kcompat.instrumentation.changing_topics import create_topic

        thread, brokers = self._brokers()
        return thread.call(create_topic(brokers, read_topic(name, partitions, replication_factor, config)))

    def delete_topic(self, name: str) -> None:
        """Delete a topic and its records, and return once it is gone.

        Raises:
            UsageError: there is no such topic, or the brokers are not started.
            RequestError: the brokers refuse it, for instance as `delete.topic.enable` is false.
        """
        from kcompat.instrumentation.changing_topics import delete_topic

        thread, brokers = self._brokers()
        thread.call(delete_topic(brokers, name))

    def topics(self, *, internal: bool = False) -> dict[str, Topic]:
        """Return the topics by name; with `internal` also those in which Kafka keeps its own state."""
        from kcompat.instrumentation.topics import describe_topics

        thread, brokers = self._brokers()
        return thread.call(describe_topics(brokers, internal=internal))

    def groups(self) -> dict[str, Group]:
        """Return the groups of every kind by id: their members, committed offsets and lag."""
        from kcompat.instrumentation.group_descriptions import describe_groups

        thread, brokers = self._brokers()
        return thread.call(describe_groups(brokers))

    def expects(
        self,
        topic: str,
        count: int | None = None,
        *,
        at_least: int | None = None,
        timeout: float = 5.0,
        where: Callable[[Record], bool] | None = None,
        isolation: Isolation = "read_uncommitted",
    ) -> Expecting:
        """Return a context manager for a `with` or `async with` block during which `count` records are
        expected in a topic, which need not exist.

        The value of the block is a list, which has the records afterwards. The end of the block waits until
        there are `count`, or `at_least` as many, for `timeout` seconds at most. If fewer records have arrived
        by then, or more than `count`, it raises AssertionError with a line for each record that arrived. With
        `where` only records for which the function returns true are counted.

        with broker.expects("orders", 3) as got:
                place_orders()
            assert got[0].json() == {"id": 1}

        Raises:
            UsageError: an argument is not valid, or the brokers are not started.
        """
        from kcompat.embedded.expecting import Expecting
        from kcompat.instrumentation.expectations import Wanted

        wanted = Wanted(topic, count, at_least, timeout, where, isolation)
        wanted.check()
        return Expecting(*self._brokers(), wanted)
