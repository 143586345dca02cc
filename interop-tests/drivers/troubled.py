"""Three client families as tests of faults use them: a producer, a consumer, a transaction at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Protocol

import aiokafka
import confluent_kafka
import kafka

from drivers.kafka_python import JOIN_MS, subscribed
from support.eventually import Patience

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

TIMEOUT_S: Final = 30


class Family(Protocol):
    """A client library: a producer's view of one record, and a consumer's of all."""

    @staticmethod
    def send(bootstrap: str, topic: str, *, idempotent: bool, request_ms: int = 30_000) -> str:
        """Send a record, and return "offset N" or the name of the error."""

    @staticmethod
    def send_again(bootstrap: str, topic: str, meanwhile: Callable[[], object], *, retries: int) -> str:
        """Send a record, call `meanwhile`, and send another one with the same producer, at most so many times
        again; return as `send` does of the second. aiokafka repeats it for the time of a request, whatever
        `retries`. Records are on all replicas in sync, so that the next leader has the first.
        """

    @staticmethod
    def read(bootstrap: str, topic: str, count: int) -> list[bytes]:
        """Read so many records from the earliest one on, without a group."""

    @staticmethod
    def commit_fenced(bootstrap: str, name: str, fence: Callable[[], object]) -> str:
        """Return the name of the error of a commit whose producer was fenced after it had written."""

    @staticmethod
    def commit(bootstrap: str, name: str, trouble: Callable[[], AbstractContextManager[object]]) -> str:
        """Join a group with the topic's name, commit an offset in trouble; return the name of the error."""


class KafkaPython:
    @staticmethod
    def send(bootstrap: str, topic: str, *, idempotent: bool, request_ms: int = 30_000) -> str:
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, enable_idempotence=idempotent, request_timeout_ms=request_ms
        )
        try:
            return f"offset {producer.send(topic, b'value').get(TIMEOUT_S).offset}"
        except kafka.errors.KafkaError as error:
            return type(error).__name__
        finally:
            producer.close(timeout=0)

    @staticmethod
    def send_again(bootstrap: str, topic: str, meanwhile: Callable[[], object], *, retries: int) -> str:
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=False, retries=retries)
        try:
            producer.send(topic, b"first").get(TIMEOUT_S)
            meanwhile()
            return f"offset {producer.send(topic, b'value').get(TIMEOUT_S).offset}"
        except kafka.errors.KafkaError as error:
            return type(error).__name__
        finally:
            producer.close(timeout=0)

    @staticmethod
    def read(bootstrap: str, topic: str, count: int) -> list[bytes]:
        consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
        consumer.assign([kafka.TopicPartition(topic, 0)])
        found: list[bytes] = []
        patience = Patience(TIMEOUT_S)
        while len(found) < count:
            assert patience.lasts, found
            found += [row.value for rows in consumer.poll(100).values() for row in rows]
        consumer.close()
        return found

    @staticmethod
    def commit_fenced(bootstrap: str, name: str, fence: Callable[[], object]) -> str:
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, transactional_id=name)
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(name, b"value").get(TIMEOUT_S)
        fence()
        try:
            producer.commit_transaction()
        except kafka.errors.KafkaError as error:
            return type(error).__name__
        finally:
            producer.close(timeout=0)
        return "committed"

    @staticmethod
    def commit(bootstrap: str, name: str, trouble: Callable[[], AbstractContextManager[object]]) -> str:
        consumer = subscribed(name, bootstrap_servers=bootstrap, group_id=name, enable_auto_commit=False)
        patience = Patience(TIMEOUT_S)
        while not consumer.assignment():
            assert patience.lasts, "nothing was assigned"
            consumer.poll(JOIN_MS)
        offsets = {kafka.TopicPartition(name, 0): kafka.OffsetAndMetadata(0, "", -1)}
        try:
            with trouble():
                consumer.commit(offsets)
        except kafka.errors.KafkaError as error:
            return type(error).__name__
        finally:
            consumer.close()
        return "committed"


class Confluent:
    @staticmethod
    def send(bootstrap: str, topic: str, *, idempotent: bool, request_ms: int = 30_000) -> str:
        settings = {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": idempotent,
            "linger.ms": 0,
            "socket.timeout.ms": request_ms,
            "request.timeout.ms": request_ms,
        }
        producer = confluent_kafka.Producer(settings)
        reports: list[str] = []

        def report(error: Any, message: Any) -> None:
            reports.append(f"offset {message.offset()}" if error is None else error.name())

        producer.produce(topic, b"value", on_delivery=report)
        assert producer.flush(TIMEOUT_S) == 0
        return reports[0]

    @staticmethod
    def send_again(bootstrap: str, topic: str, meanwhile: Callable[[], object], *, retries: int) -> str:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 0, "message.send.max.retries": retries}
        )
        reports: list[str] = []

        def report(error: Any, message: Any) -> None:
            reports.append(f"offset {message.offset()}" if error is None else error.name())

        producer.produce(topic, b"first", on_delivery=report)
        assert producer.flush(TIMEOUT_S) == 0
        meanwhile()
        producer.produce(topic, b"value", on_delivery=report)
        assert producer.flush(TIMEOUT_S) == 0
        return reports[1]

    @staticmethod
    def read(bootstrap: str, topic: str, count: int) -> list[bytes]:
        settings = {"bootstrap.servers": bootstrap, "group.id": "none", "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer(settings)
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        found: list[bytes] = []
        patience = Patience(TIMEOUT_S)
        while len(found) < count:
            assert patience.lasts, found
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                found.append(message.value())
        consumer.close()
        return found

    @staticmethod
    def commit_fenced(bootstrap: str, name: str, fence: Callable[[], object]) -> str:
        producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        producer.produce(name, b"value")
        assert producer.flush(TIMEOUT_S) == 0
        fence()
        try:
            producer.commit_transaction(TIMEOUT_S)
        except confluent_kafka.KafkaException as error:
            return str(error.args[0].name())
        return "committed"

    @staticmethod
    def commit(bootstrap: str, name: str, trouble: Callable[[], AbstractContextManager[object]]) -> str:
        consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": name})
        consumer.subscribe([name])
        patience = Patience(TIMEOUT_S)
        while not consumer.assignment():
            assert patience.lasts, "nothing was assigned"
            consumer.poll(0.1)
        try:
            with trouble():
                consumer.commit(offsets=[confluent_kafka.TopicPartition(name, 0, 0)], asynchronous=False)
        except confluent_kafka.KafkaException as error:
            return str(error.args[0].name())
        finally:
            consumer.close()
        return "committed"


class AioKafka:
    @staticmethod
    def send(bootstrap: str, topic: str, *, idempotent: bool, request_ms: int = 30_000) -> str:
        return asyncio.run(
            AioKafka._send(
                topic, None, bootstrap, enable_idempotence=idempotent, request_timeout_ms=request_ms
            )
        )

    @staticmethod
    def send_again(bootstrap: str, topic: str, meanwhile: Callable[[], object], *, retries: int) -> str:
        return asyncio.run(AioKafka._send(topic, meanwhile, bootstrap, acks="all"))

    @staticmethod
    async def _send(
        topic: str, meanwhile: Callable[[], object] | None, bootstrap: str, **settings: object
    ) -> str:
        """Send a value, and with `meanwhile` another one before that."""
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, **settings)
        await producer.start()
        try:
            if meanwhile is not None:
                await producer.send_and_wait(topic, b"first")
                await asyncio.to_thread(meanwhile)
            sent = await asyncio.wait_for(producer.send_and_wait(topic, b"value"), TIMEOUT_S)
        except aiokafka.errors.KafkaError as error:
            return type(error).__name__
        finally:
            await producer.stop()
        return f"offset {sent.offset}"

    @staticmethod
    def read(bootstrap: str, topic: str, count: int) -> list[bytes]:
        async def read() -> list[bytes]:
            consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
            await consumer.start()
            consumer.assign([aiokafka.TopicPartition(topic, 0)])
            found = [(await asyncio.wait_for(consumer.getone(), TIMEOUT_S)).value for _ in range(count)]
            await consumer.stop()
            return found

        return asyncio.run(read())

    @staticmethod
    def commit_fenced(bootstrap: str, name: str, fence: Callable[[], object]) -> str:
        async def commit() -> str:
            producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name)
            await producer.start()
            await producer.begin_transaction()
            await producer.send_and_wait(name, b"value")
            await asyncio.to_thread(fence)
            try:
                await asyncio.wait_for(producer.commit_transaction(), TIMEOUT_S)
            except aiokafka.errors.KafkaError as error:
                return type(error).__name__
            finally:
                await producer.stop()
            return "committed"

        return asyncio.run(commit())

    @staticmethod
    def commit(bootstrap: str, name: str, trouble: Callable[[], AbstractContextManager[object]]) -> str:
        async def commit() -> str:
            consumer = aiokafka.AIOKafkaConsumer(
                name, bootstrap_servers=bootstrap, group_id=name, enable_auto_commit=False
            )
            await consumer.start()
            patience = Patience(TIMEOUT_S)
            while not consumer.assignment():
                assert patience.lasts, "nothing was assigned"
                await consumer.getmany(timeout_ms=100)
            try:
                with trouble():
                    await consumer.commit({aiokafka.TopicPartition(name, 0): 0})
            except aiokafka.errors.KafkaError as error:
                return type(error).__name__
            finally:
                await consumer.stop()
            return "committed"

        return asyncio.run(commit())


FAMILIES: Final[dict[str, type[Family]]] = {
    "kafka-python": KafkaPython,
    "confluent": Confluent,
    "aiokafka": AioKafka,
}
TOO_LARGE: Final = {
    "kafka-python": "MessageSizeTooLargeError",
    "confluent": "MSG_SIZE_TOO_LARGE",
    "aiokafka": "MessageSizeTooLargeError",
}
"""Name of the error MESSAGE_TOO_LARGE, by family."""
