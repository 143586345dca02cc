"""The ordinary clients of the demo: kafka-python and confluent-kafka, used as anybody uses them."""

from __future__ import annotations

import importlib.metadata
import json
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from orders import PARTITIONS, TOPIC, Order

if TYPE_CHECKING:
    from collections.abc import Iterable

Progress = Callable[[int], None]
SILENCE_S = 30


def versions() -> tuple[str, str]:
    """Return the names and versions of kafka-python and confluent-kafka."""
    python, confluent = "kafka-python", "confluent-kafka"
    return (
        f"{python} {importlib.metadata.version(python)}",
        f"{confluent} {importlib.metadata.version(confluent)}",
    )


def create_topic(bootstrap: str) -> None:
    """Create the topic with confluent-kafka's admin client."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin: Any = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
        future.result(SILENCE_S)


def produce_with_kafka_python(bootstrap: str, some: Iterable[Order], progress: Progress) -> None:
    """Write orders with kafka-python and wait until all are acknowledged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kafka-python uses what Python 3.11 deprecates
        import kafka

    producer = kafka.KafkaProducer(
        bootstrap_servers=bootstrap, acks="all", compression_type="gzip", linger_ms=5
    )
    for sent, order in enumerate(some, 1):
        producer.send(TOPIC, key=order.key, value=order.value)
        progress(sent)
    producer.flush()
    producer.close()


def produce_with_confluent(
    bootstrap: str, some: Iterable[Order], progress: Progress, rate: float = 0
) -> None:
    """Write orders with confluent-kafka, ``rate`` a second if given, and wait until all are acknowledged."""
    import confluent_kafka

    # The partitioner of the Java client and of kafka-python: a key has one partition whoever writes it.
    settings = {
        "partitioner": "murmur2_random",
        "enable.idempotence": True,
        "compression.type": "lz4",
        "linger.ms": 5,
    }
    producer: Any = confluent_kafka.Producer({"bootstrap.servers": bootstrap, **settings})
    failures: list[Any] = []
    began = time.monotonic()
    for sent, order in enumerate(some, 1):
        while True:
            try:
                producer.produce(
                    TOPIC,
                    key=order.key,
                    value=order.value,
                    on_delivery=lambda error, _: failures.append(error) if error else None,
                )
                break
            except BufferError:
                producer.poll(0.1)
        if sent % 100 == 0:
            producer.poll(max(0.0, began + sent / rate - time.monotonic()) if rate else 0)
            progress(sent)
    producer.flush(SILENCE_S)
    if failures:
        raise RuntimeError(f"{len(failures)} records were not delivered, the first because of {failures[0]}")


def read_back(bootstrap: str, expected: int, progress: Progress) -> list[list[Order]]:
    """Read the topic with a consumer group; the orders of each partition in the order of their offsets."""
    import confluent_kafka

    settings = {"group.id": "demo", "auto.offset.reset": "earliest"}
    consumer: Any = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, **settings})
    consumer.subscribe([TOPIC])
    partitions: list[list[Order]] = [[] for _ in range(PARTITIONS)]
    read, patience = 0, time.monotonic() + SILENCE_S
    while read < expected and time.monotonic() < patience:
        messages = consumer.consume(10_000, timeout=0.2)
        for message in messages:
            partitions[message.partition()].append(Order(**json.loads(message.value())))
        read += len(messages)
        patience = time.monotonic() + SILENCE_S if messages else patience
        progress(read)
    consumer.close()
    return partitions
