"""aiokafka, with one event loop in a thread of its own for the whole driver."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import aiokafka
import aiokafka.admin
import aiokafka.errors

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
    from collections.abc import Coroutine, Mapping, Sequence

T = TypeVar("T")
REQUEST_LIMIT = 10_000_000


def _flatten(batches: Mapping[Any, Sequence[Any]]) -> list[Record]:
    return [
        Record(r.value, r.key, tuple((name, value) for name, value in r.headers), r.partition, r.offset)
        for records in batches.values()
        for r in records
    ]


class _Consumer(ConsumerPort):
    def __init__(self, driver: Aiokafka, group: str, topic: str) -> None:
        self._driver = driver
        self._consumer = driver.run(self._open(group, topic))

    async def _open(self, group: str, topic: str) -> Any:
        consumer = aiokafka.AIOKafkaConsumer(
            topic,
            bootstrap_servers=self._driver.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=HEARTBEAT_MS,
        )
        await consumer.start()
        return consumer

    def poll(self) -> list[Record]:
        return _flatten(self._driver.run(self._consumer.getmany(timeout_ms=POLL_MS)))

    def assigned(self) -> list[int]:
        return sorted(tp.partition for tp in self._consumer.assignment())

    def commit(self, topic: str, partition: int, offset: int) -> None:
        self._driver.run(self._consumer.commit({aiokafka.TopicPartition(topic, partition): offset}))

    def close(self) -> None:
        self._driver.run(self._consumer.stop())


class Aiokafka(ThreadedDriver):
    """Driver for aiokafka 0.14."""

    cannot: Mapping[str, str] = {"delete_group": "aiokafka's admin client has no DeleteGroups"}
    null_header_values = False

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.admin: Any = self.run(self._open_admin())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the driver's loop and wait for its result."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(OPERATION_TIMEOUT_S)
        except aiokafka.errors.KafkaError as error:
            raise DriverError(getattr(error, "errno", -1), str(error)) from error

    async def _open_admin(self) -> Any:
        admin = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        return admin

    def open_consumer(self, group: str, topic: str) -> ConsumerPort:
        return _Consumer(self, group, topic)

    def produce(self, topic: str, records: Sequence[Record], codec: str | None = None) -> None:
        self.run(self._produce(topic, records, codec))

    async def _produce(self, topic: str, records: Sequence[Record], codec: str | None) -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
            enable_idempotence=True,
            compression_type=codec,
            linger_ms=5,
            max_request_size=REQUEST_LIMIT,
            max_batch_size=REQUEST_LIMIT if len(records) == 1 else 16384,
        )
        await producer.start()
        try:
            sent = [
                await producer.send(topic, r.value, key=r.key, partition=r.partition, headers=list(r.headers))
                for r in records
            ]
            await asyncio.gather(*sent)
        finally:
            await producer.stop()

    def consume(self, topic: str, partitions: Sequence[int], count: int, start: int = 0) -> list[Record]:
        return self.run(self._consume(topic, partitions, count, start))

    async def _consume(self, topic: str, partitions: Sequence[int], count: int, start: int) -> list[Record]:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=self.bootstrap, enable_auto_commit=False)
        await consumer.start()
        try:
            assignment = [aiokafka.TopicPartition(topic, partition) for partition in partitions]
            consumer.assign(assignment)
            for tp in assignment:
                consumer.seek(tp, start)
            records: list[Record] = []
            for _ in range(200):
                records += _flatten(await consumer.getmany(timeout_ms=POLL_MS))
                if len(records) >= count:
                    break
            return records
        finally:
            await consumer.stop()

    def _checked(self, rows: Sequence[Sequence[Any]]) -> None:
        for _, code, *rest in rows:
            if code:
                raise DriverError(code, str(rest))

    def create_topic(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        new = aiokafka.admin.NewTopic(topic, partitions, 1, topic_configs=dict(configs))
        self._checked(self.run(self.admin.create_topics([new])).topic_errors)

    def delete_topic(self, topic: str) -> None:
        self._checked(self.run(self.admin.delete_topics([topic])).topic_error_codes)

    def topics(self) -> list[str]:
        return list(self.run(self.admin.list_topics()))

    def partitions(self, topic: str) -> int:
        return len(self.run(self.admin.describe_topics([topic]))[0]["partitions"])

    def add_partitions(self, topic: str, total: int) -> None:
        new = {topic: aiokafka.admin.NewPartitions(total)}
        self._checked(self.run(self.admin.create_partitions(new)).topic_errors)

    def _resource(self, topic: str, configs: Mapping[str, str] | None = None) -> Any:
        kind = aiokafka.admin.config_resource.ConfigResourceType.TOPIC
        return aiokafka.admin.config_resource.ConfigResource(kind, topic, configs and dict(configs))

    def topic_config(self, topic: str, key: str) -> str:
        (answer,) = self.run(self.admin.describe_configs([self._resource(topic)]))
        entries = answer.resources[0][4]
        return next(str(entry[1]) for entry in entries if entry[0] == key)

    def set_topic_config(self, topic: str, key: str, value: str) -> None:
        (answer,) = self.run(self.admin.alter_configs([self._resource(topic, {key: value})]))
        assert answer.resources[0][0] == 0, answer

    def groups(self) -> list[str]:
        return [name for name, *_ in self.run(self.admin.list_consumer_groups())]

    def group(self, group: str) -> tuple[str, int]:
        (answer,) = self.run(self.admin.describe_consumer_groups([group]))
        _, _, state, _, _, members, *_ = answer.groups[0]
        return state, len(members)

    def committed(self, group: str, topic: str, partition: int) -> int:
        found = self.run(self.admin.list_consumer_group_offsets(group))
        position = found.get(aiokafka.TopicPartition(topic, partition))
        return -1 if position is None else int(position.offset)

    def delete_group(self, group: str) -> None:
        raise NotImplementedError(self.cannot["delete_group"])

    def close(self) -> None:
        super().close()
        self.run(self.admin.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
