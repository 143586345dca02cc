"""kafka-python 3.x and 2.0.2: the same producer and consumer, two different admin clients."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from drivers.base import HEARTBEAT_MS, POLL_MS, ConsumerPort, DriverError, Record, ThreadedDriver


def _lend_six() -> None:
    """Give kafka-python 2.0.2 the current six: Python 3.12 and later cannot import the copy it carries."""
    if sys.version_info >= (3, 12):
        import six

        sys.modules.setdefault("kafka.vendor.six", six)
        sys.modules.setdefault("kafka.vendor.six.moves", six.moves)


_lend_six()

import kafka  # noqa: E402
import kafka.admin  # noqa: E402
import kafka.errors  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REQUEST_LIMIT = 10_000_000
JOIN_MS = 1000
"""Milliseconds of a poll in which a consumer joins its group."""


def _tp(topic: str, partition: int) -> Any:
    return kafka.TopicPartition(topic, partition)


def _flatten(batches: Mapping[Any, Sequence[Any]]) -> list[Record]:
    return [
        Record(r.value, r.key, tuple((name, value) for name, value in r.headers), r.partition, r.offset)
        for records in batches.values()
        for r in records
    ]


def subscribed(topic: str, **settings: Any) -> Any:
    """Return a consumer that subscribes to a topic and knows its partitions already.

    kafka-python 3.0 joins its group again when it first hears of them. If a poll ends while it waits for the
    answer to a join, it may take the answer for none, and never sends a request again: give the poll before
    the first assignment at least `JOIN_MS`. It does the same with a real Kafka.
    """
    consumer = kafka.KafkaConsumer(**settings)
    consumer.subscribe([topic])
    consumer.partitions_for_topic(topic)
    return consumer


class _Consumer(ConsumerPort):
    def __init__(self, bootstrap: str, group: str, topic: str, settings: Mapping[str, Any]) -> None:
        self._topic = topic
        self._consumer = subscribed(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=HEARTBEAT_MS,
            **settings,
        )

    def poll(self) -> list[Record]:
        is_joined = bool(self._consumer.assignment())
        return _flatten(self._consumer.poll(timeout_ms=POLL_MS if is_joined else JOIN_MS))

    def assigned(self) -> list[int]:
        return sorted(tp.partition for tp in self._consumer.assignment())

    def commit(self, topic: str, partition: int, offset: int) -> None:
        fields = len(kafka.OffsetAndMetadata._fields)
        position = kafka.OffsetAndMetadata(*(offset, "", -1)[:fields])
        self._consumer.commit({_tp(topic, partition): position})

    def close(self) -> None:
        self._consumer.close()


class _KafkaPython(ThreadedDriver):
    """The part of the driver that both generations of kafka-python have in common."""

    null_header_values = False
    settings: ClassVar[Mapping[str, Any]] = {}
    """Arguments of producers and consumers besides the address."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self.admin: Any = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)

    def open_consumer(self, group: str, topic: str) -> ConsumerPort:
        return _Consumer(self.bootstrap, group, topic, self.settings)

    def produce(self, topic: str, records: Sequence[Record], codec: str | None = None) -> None:
        producer = kafka.KafkaProducer(
            bootstrap_servers=self.bootstrap,
            acks="all",
            compression_type=codec,
            linger_ms=5,
            max_request_size=REQUEST_LIMIT,
            **self.settings,
        )
        try:
            sent = [
                producer.send(topic, r.value, key=r.key, headers=list(r.headers), partition=r.partition)
                for r in records
            ]
            producer.flush()
            for future in sent:
                future.get(timeout=30)
        except kafka.errors.KafkaError as error:
            raise DriverError(getattr(error, "errno", -1), str(error)) from error
        finally:
            producer.close()

    def consume(self, topic: str, partitions: Sequence[int], count: int, start: int = 0) -> list[Record]:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=self.bootstrap, enable_auto_commit=False, **self.settings
        )
        try:
            assignment = [_tp(topic, partition) for partition in partitions]
            consumer.assign(assignment)
            for tp in assignment:
                consumer.seek(tp, start)
            records: list[Record] = []
            for _ in range(200):
                records += _flatten(consumer.poll(timeout_ms=POLL_MS))
                if len(records) >= count:
                    break
            return records
        finally:
            consumer.close()

    def delete_topic(self, topic: str) -> None:
        self.admin.delete_topics([topic])

    def topics(self) -> list[str]:
        return list(self.admin.list_topics())

    def close(self) -> None:
        super().close()
        self.admin.close()


class KafkaPython3(_KafkaPython):
    """Driver for kafka-python 3.x."""

    def create_topic(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        new = {topic: {"num_partitions": partitions, "replication_factor": 1, "configs": dict(configs)}}
        try:
            self.admin.create_topics(new)
        except kafka.errors.KafkaError as error:
            raise DriverError(getattr(error, "errno", -1), str(error)) from error

    def partitions(self, topic: str) -> int:
        return len(self.admin.describe_topics([topic])[0]["partitions"])

    def add_partitions(self, topic: str, total: int) -> None:
        self.admin.create_partitions({topic: total})

    def topic_config(self, topic: str, key: str) -> str:
        resource = kafka.admin.ConfigResource("TOPIC", topic)
        described = self.admin.describe_configs([resource], config_filter="all")
        return str(described["topic"][topic][key]["value"])

    def set_topic_config(self, topic: str, key: str, value: str) -> None:
        answer = self.admin.alter_configs([kafka.admin.ConfigResource("TOPIC", topic, {key: value})])
        assert answer["topic"][topic] == "OK", answer

    def groups(self) -> list[str]:
        return [group["group_id"] for group in self.admin.list_groups()]

    def group(self, group: str) -> tuple[str, int]:
        described = self.admin.describe_groups([group])[group]
        return described["group_state"], len(described["members"])

    def committed(self, group: str, topic: str, partition: int) -> int:
        offsets = self.admin.list_group_offsets(group)[group]
        found = offsets.get(_tp(topic, partition))
        return -1 if found is None else int(found.offset)

    def delete_group(self, group: str) -> None:
        answer = self.admin.delete_groups([group])
        assert answer == {group: "OK"}, answer


class KafkaPython2(_KafkaPython):
    """Driver for kafka-python 2.0.2."""

    def create_topic(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        new = kafka.admin.NewTopic(topic, partitions, 1, topic_configs=dict(configs))
        try:
            self.admin.create_topics([new])
        except kafka.errors.KafkaError as error:
            raise DriverError(getattr(error, "errno", -1), str(error)) from error

    def partitions(self, topic: str) -> int:
        return len(self.admin.describe_topics([topic])[0]["partitions"])

    def add_partitions(self, topic: str, total: int) -> None:
        self.admin.create_partitions({topic: kafka.admin.NewPartitions(total)})

    def _resource(self, topic: str, configs: Mapping[str, str] | None = None) -> Any:
        kind = kafka.admin.ConfigResourceType.TOPIC
        return kafka.admin.ConfigResource(kind, topic, configs and dict(configs))

    def topic_config(self, topic: str, key: str) -> str:
        (answer,) = self.admin.describe_configs([self._resource(topic)])
        entries = answer.resources[0][4]
        return next(str(entry[1]) for entry in entries if entry[0] == key)

    def set_topic_config(self, topic: str, key: str, value: str) -> None:
        answer = self.admin.alter_configs([self._resource(topic, {key: value})])
        assert answer.resources[0][0] == 0, answer

    def groups(self) -> list[str]:
        return [name for name, _ in self.admin.list_consumer_groups()]

    def group(self, group: str) -> tuple[str, int]:
        (described,) = self.admin.describe_consumer_groups([group])
        return described.state, len(described.members)

    def committed(self, group: str, topic: str, partition: int) -> int:
        found = self.admin.list_consumer_group_offsets(group).get(_tp(topic, partition))
        return -1 if found is None else int(found.offset)

    def delete_group(self, group: str) -> None:
        ((_, error),) = self.admin.delete_consumer_groups([group])
        assert error is kafka.errors.NoError, error


class Pinned082(KafkaPython2):
    """Told that the broker is of 0.8.2: asks nothing, speaks magic 0, knows no groups."""

    settings: ClassVar[Mapping[str, Any]] = {"api_version": (0, 8, 2)}


class Pinned09(KafkaPython2):
    """Driver for kafka-python 2.0.2 as a client of Kafka 0.9: magic 0, groups."""

    settings: ClassVar[Mapping[str, Any]] = {"api_version": (0, 9)}


class Pinned010(KafkaPython2):
    """Driver for kafka-python 2.0.2 as a client of Kafka 0.10: magic 1."""

    settings: ClassVar[Mapping[str, Any]] = {"api_version": (0, 10)}


class Pinned011(KafkaPython2):
    """Driver for kafka-python 2.0.2 for Kafka 0.11: writes batches v2, but still fetches magic 1."""

    settings: ClassVar[Mapping[str, Any]] = {"api_version": (0, 11)}
