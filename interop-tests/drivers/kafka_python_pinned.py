"""kafka-python 2.0.2 told which broker it talks to: it then asks nothing and speaks that broker's versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import drivers.kafka_python  # noqa: F401 - lends six before kafka is imported
import kafka
from drivers.base import POLL_MS, Record

if TYPE_CHECKING:
    from collections.abc import Sequence


class Pinned:
    """Produce and consume partition 0 as with a broker of `api_version`."""

    api_version: ClassVar[tuple[int, ...]]

    def __init__(self, bootstrap: str) -> None:
        self._common: dict[str, Any] = {"bootstrap_servers": bootstrap, "api_version": self.api_version}

    def produce(self, topic: str, records: Sequence[Record], codec: str | None = None) -> list[int]:
        """Send the records; their offsets."""
        producer = kafka.KafkaProducer(acks="all", compression_type=codec, linger_ms=50, **self._common)
        sent = [producer.send(topic, r.value, key=r.key, partition=0) for r in records]
        producer.flush()
        offsets = [future.get(timeout=30).offset for future in sent]
        producer.close()
        return offsets

    def consume(self, topic: str, count: int, start: int = 0) -> list[Record]:
        """Read without a group."""
        consumer = kafka.KafkaConsumer(enable_auto_commit=False, **self._common)
        partition = kafka.TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek(partition, start)
        got = self._poll(consumer, count)
        consumer.close()
        return got

    def consume_in_group(self, group: str, topic: str, count: int) -> list[Record]:
        """Read as a member of a group, or in 0.8.2, which has none, with its offsets; then commit."""
        consumer = kafka.KafkaConsumer(
            group_id=group, enable_auto_commit=False, auto_offset_reset="earliest", **self._common
        )
        if self.api_version < (0, 9):
            consumer.assign([kafka.TopicPartition(topic, 0)])
        else:
            consumer.subscribe([topic])
        got = self._poll(consumer, count)
        consumer.commit()
        consumer.close()
        return got

    @staticmethod
    def _poll(consumer: Any, count: int) -> list[Record]:
        got: list[Record] = []
        for _ in range(300):
            for records in consumer.poll(timeout_ms=POLL_MS).values():
                got += [Record(r.value, r.key, tuple(r.headers), 0, r.offset) for r in records]
            if len(got) >= count:
                break
        return got

    def close(self) -> None:
        """Nothing is kept open."""


class Pinned082(Pinned):
    """As with 0.8.2: magic 0, offsets but no groups."""

    api_version = (0, 8, 2)


class Pinned09(Pinned):
    """As with 0.9: magic 0, groups."""

    api_version = (0, 9)


class Pinned010(Pinned):
    """As with 0.10: magic 1."""

    api_version = (0, 10)


class Pinned011(Pinned):
    """As with 0.11: writes batches v2, but still reads magic 1."""

    api_version = (0, 11)
