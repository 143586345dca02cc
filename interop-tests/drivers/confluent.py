"""confluent-kafka (librdkafka): the current release and 2.0.2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import confluent_kafka as ck
import confluent_kafka.admin as ck_admin

from drivers.base import (
    HEARTBEAT_MS,
    OPERATION_TIMEOUT_S,
    POLL_MS,
    ConsumerPort,
    DriverError,
    Record,
    ThreadedDriver,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REQUEST_LIMIT = 10_000_000


def _record(message: Any) -> Record:
    headers = tuple((name, value) for name, value in message.headers() or [])
    return Record(message.value(), message.key(), headers, message.partition(), message.offset())


def _poll(consumer: Any) -> list[Record]:
    messages = consumer.consume(500, timeout=POLL_MS / 1000)
    for message in messages:
        if message.error() is not None:
            raise DriverError(message.error().code(), message.error().str())
    return [_record(message) for message in messages]


class _Consumer(ConsumerPort):
    def __init__(self, bootstrap: str, group: str, topic: str, extra: Mapping[str, str]) -> None:
        self._consumer: Any = ck.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": HEARTBEAT_MS,
                **extra,
            }
        )
        self._consumer.subscribe([topic])

    def poll(self) -> list[Record]:
        return _poll(self._consumer)

    def assigned(self) -> list[int]:
        return sorted(tp.partition for tp in self._consumer.assignment())

    def commit(self, topic: str, partition: int, offset: int) -> None:
        self._consumer.commit(offsets=[ck.TopicPartition(topic, partition, offset)], asynchronous=False)

    def close(self) -> None:
        self._consumer.close()


class Confluent(ThreadedDriver):
    """confluent-kafka 2.16: incremental config changes."""

    consumer_settings: Mapping[str, str] = {}

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self.admin: Any = ck_admin.AdminClient({"bootstrap.servers": bootstrap})

    def open_consumer(self, group: str, topic: str) -> ConsumerPort:
        return _Consumer(self.bootstrap, group, topic, self.consumer_settings)

    def produce(self, topic: str, records: Sequence[Record], codec: str | None = None) -> None:
        producer: Any = ck.Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "compression.type": codec or "none",
                "message.max.bytes": REQUEST_LIMIT,
                "enable.idempotence": True,
                "linger.ms": 5,
            }
        )
        errors: list[Any] = []
        for r in records:
            producer.produce(
                topic,
                value=r.value,
                key=r.key,
                headers=list(r.headers),
                partition=r.partition,
                on_delivery=lambda error, _: errors.append(error) if error else None,
            )
        undelivered = producer.flush(OPERATION_TIMEOUT_S)
        assert undelivered == 0, f"{undelivered} records were not delivered"
        if errors:
            raise DriverError(errors[0].code(), errors[0].str())

    def consume(self, topic: str, partitions: Sequence[int], count: int, start: int = 0) -> list[Record]:
        consumer: Any = ck.Consumer({"bootstrap.servers": self.bootstrap, "group.id": "unused"})
        try:
            consumer.assign([ck.TopicPartition(topic, partition, start) for partition in partitions])
            records: list[Record] = []
            for _ in range(200):
                records += _poll(consumer)
                if len(records) >= count:
                    break
            return records
        finally:
            consumer.close()

    def _one(self, futures: Mapping[Any, Any]) -> Any:
        (future,) = futures.values()
        try:
            return future.result(OPERATION_TIMEOUT_S)
        except ck.KafkaException as error:
            raise DriverError(error.args[0].code(), error.args[0].str()) from error

    def create_topic(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        self._one(self.admin.create_topics([ck_admin.NewTopic(topic, partitions, 1, config=dict(configs))]))

    def delete_topic(self, topic: str) -> None:
        self._one(self.admin.delete_topics([topic]))

    def topics(self) -> list[str]:
        return list(self.admin.list_topics(timeout=OPERATION_TIMEOUT_S).topics)

    def partitions(self, topic: str) -> int:
        return len(self.admin.list_topics(topic, timeout=OPERATION_TIMEOUT_S).topics[topic].partitions)

    def add_partitions(self, topic: str, total: int) -> None:
        self._one(self.admin.create_partitions([ck_admin.NewPartitions(topic, total)]))

    def topic_config(self, topic: str, key: str) -> str:
        resource = ck_admin.ConfigResource(ck_admin.ConfigResource.Type.TOPIC, topic)
        return str(self._one(self.admin.describe_configs([resource]))[key].value)

    def set_topic_config(self, topic: str, key: str, value: str) -> None:
        entry = ck_admin.ConfigEntry(key, value, incremental_operation=ck_admin.AlterConfigOpType.SET)
        kind = ck_admin.ConfigResource.Type.TOPIC
        resource = ck_admin.ConfigResource(kind, topic, incremental_configs=[entry])
        self._one(self.admin.incremental_alter_configs([resource]))

    def groups(self) -> list[str]:
        listed = self.admin.list_consumer_groups().result(OPERATION_TIMEOUT_S)
        assert not listed.errors, listed.errors
        return [group.group_id for group in listed.valid]

    def group(self, group: str) -> tuple[str, int]:
        described = self._one(self.admin.describe_consumer_groups([group]))
        return described.state.name.title(), len(described.members)

    def committed(self, group: str, topic: str, partition: int) -> int:
        wanted = ck.ConsumerGroupTopicPartitions(group, [ck.TopicPartition(topic, partition)])
        (found,) = self._one(self.admin.list_consumer_group_offsets([wanted])).topic_partitions
        return -1 if found.offset < 0 else int(found.offset)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Delete the records below the offset ``before``."""
        self._one(self.admin.delete_records([ck.TopicPartition(topic, partition, before)]))

    def delete_group(self, group: str) -> None:
        self._one(self.admin.delete_consumer_groups([group]))


class ConfluentOld(Confluent):
    """confluent-kafka 2.0.2: AlterConfigs replaces the whole configuration."""

    def set_topic_config(self, topic: str, key: str, value: str) -> None:
        kind = ck_admin.ConfigResource.Type.TOPIC
        self._one(self.admin.alter_configs([ck_admin.ConfigResource(kind, topic, set_config={key: value})]))
