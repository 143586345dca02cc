"""A blocking producer for one topic: batches, at most one request in flight a broker, idempotence, retries.

While a broker handles a request, further records are read and gathered. Since a broker has one request at a
time, batches of a partition stay in order also when a batch is sent again. Kafka's counterparts:
`KafkaProducer`, `RecordAccumulator` and `Sender`.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from kcompat.admin.client import ANY
from kcompat.admin.connection import LostConnectionError, Versioned
from kcompat.admin.errors import JavaError, error_of_code
from kcompat.admin.log_lines import log_line
from kcompat.admin.waiting import pause
from kcompat.commands.console.batches import NO_PRODUCER, Batch, Partitioner, upper_size
from kcompat.commands.console.topic_view import TopicView
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.init_producer_id import InitProducerIdRequest
from kcompat.protocol.messages.produce import ProduceRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.admin.client import AdminClient
    from kcompat.admin.connection import BrokerConnection, Pending
    from kcompat.commands.console.lines import Line
    from kcompat.commands.console.producer_settings import ProducerSettings
    from kcompat.commands.console.topic_view import Leaders

    Failed = Callable[[int | None, int | None, JavaError], None]
    """Function to call for each record that was not written, with the bytes of its key and value, and the
    error.
    """

_LAST_WITH_NAMES: Final = 12
_SEQUENCES: Final = 1 << 31
_LOGGER: Final = "org.apache.kafka.clients.producer.internals.Sender"


class _InFlight(NamedTuple):
    """A request that a broker handles."""

    connection: BrokerConnection
    pending: Pending
    batches: list[Batch]


class ConsoleProducer:
    """Producer of records to one topic. `close` sends the records that are left."""

    def __init__(self, admin: AdminClient, topic: str, settings: ProducerSettings, failed: Failed) -> None:
        """Prepare the producer; its first record makes it look up the leaders of the topic."""
        self._admin = admin
        self._topic = topic
        self._view = TopicView(admin, f"Producer clientId={settings.client_id}", [topic])
        self._settings = settings
        self._failed = failed
        self._partitioner = Partitioner(settings.batch_size)
        self._leaders: Leaders = {}
        self._available: list[int] = []
        self._open: dict[int, Batch] = {}
        self._full: dict[int, deque[Batch]] = {}
        self._in_flight: dict[int, _InFlight] = {}
        self._producer = NO_PRODUCER
        self._sequences: dict[int, int] = {}

    def send(self, line: Line) -> None:
        """Add a record to a batch, and send the batch if it is full. A record that cannot be sent is
        reported.
        """
        try:
            self._take(line)
        except JavaError as error:
            key, value = (None if each is None else len(each) for each in (line.key, line.value))
            self._failed(key, value, error)

    def _take(self, line: Line) -> None:
        """Put a record in the batch of its partition. Raises JavaError if no broker would take it."""
        leaders = self._view.await_topic(self._topic, self._settings.max_block_ms)
        size = upper_size(line)
        self._check_size(size)
        if leaders is not self._leaders:
            self._leaders = leaders
            self._available = [index for index, leader in leaders.items() if leader >= 0]
        partition = self._partitioner.choose(line, len(leaders), self._available, size)
        batch = self._open.get(partition)
        if batch is not None and batch.size + size > self._settings.batch_size:
            self._enclose(partition)
            batch = None
        if batch is None:
            batch = self._open[partition] = Batch(partition)
        batch.add(line, time.time_ns() // 1_000_000)
        if batch.size >= self._settings.batch_size:
            self._enclose(partition)

    def _check_size(self, size: int) -> None:
        """Raise JavaError if a record of this many bytes cannot be sent."""
        text = f"The message is {size} bytes when serialized which is larger than "
        if size > self._settings.max_request_size:
            text += f"{self._settings.max_request_size}, "
            text += "which is the value of the max.request.size configuration."
        elif size > self._settings.buffer_memory:
            text += "the total memory buffer you have configured with the buffer.memory configuration."
        else:
            return
        raise JavaError("RecordTooLargeException", text)

    def due_s(self) -> float | None:
        """Return the seconds until `send_due` has a batch to send; None if no batch is waiting."""
        if self._full:
            return 0
        if not self._open:
            return None
        oldest = min(batch.first_at for batch in self._open.values())
        return max(oldest + self._settings.linger_ms / 1000 - time.monotonic(), 0)

    def send_due(self) -> None:
        """Send the batches that have waited for `linger.ms`."""
        due = time.monotonic() - self._settings.linger_ms / 1000
        for partition in [index for index, batch in self._open.items() if batch.first_at <= due]:
            self._enclose(partition)
        self._send_full()

    def settle(self) -> None:
        """Wait for the responses to all requests that brokers handle."""
        for broker in list(self._in_flight):
            self._receive(broker)

    def flush(self) -> None:
        """Send all records, and wait until they are written or have failed."""
        for partition in list(self._open):
            self._enclose(partition)
        while self._full or self._in_flight:
            self._send_full()
            self.settle()

    def _enclose(self, partition: int) -> None:
        """Close the open batch of a partition, so that it can be sent."""
        self._full.setdefault(partition, deque()).append(self._open.pop(partition))
        self._send_full()

    def _send_full(self) -> None:
        """Send the oldest full batch of each partition, after the requests that are in flight."""
        by_broker: dict[int, list[Batch]] = {}
        for partition, waiting in list(self._full.items()):
            leader = self._view.leaders.get(self._topic, {}).get(partition, -1)
            if leader >= 0:
                self._receive(leader)  # which may put batches back in front
                by_broker.setdefault(leader, []).append(waiting[0])
            else:
                batch = waiting[0]
                self._withdraw(batch)
                self._again(batch, error_of_code(ErrorCode.LEADER_NOT_AVAILABLE))
        for broker, batches in by_broker.items():
            for batch in batches:
                self._withdraw(batch)
            try:
                self._prepare(batches)
                self._send(broker, batches)
            except (JavaError, LostConnectionError) as error:
                self._unsent(batches, error)

    def _withdraw(self, batch: Batch) -> None:
        """Remove the oldest batch of its partition from the queue."""
        waiting = self._full[batch.partition]
        waiting.popleft()
        if not waiting:
            del self._full[batch.partition]

    def _prepare(self, batches: list[Batch]) -> None:
        """Give sequences to batches that have none. Raises JavaError if there is no producer id."""
        if not self._settings.is_idempotent:
            return
        if self._producer == NO_PRODUCER:
            request = InitProducerIdRequest(None, self._settings.request_timeout_ms)
            response = self._admin.ask(
                request, ANY, name="initProducerId", timeout_ms=self._settings.delivery_timeout_ms
            )
            if response.error_code:
                raise error_of_code(response.error_code)
            self._producer = response.producer_id, response.producer_epoch
            self._sequences.clear()
        for batch in batches:
            if batch.producer == NO_PRODUCER:
                batch.producer = self._producer
                batch.sequence = self._sequences.get(batch.partition, 0)
                self._sequences[batch.partition] = (batch.sequence + len(batch.sizes)) % _SEQUENCES

    def _send(self, broker: int, batches: list[Batch]) -> None:
        data = [
            ProduceRequest.PartitionProduceData(batch.partition, bytes(batch.encode(self._settings.codec)))
            for batch in batches
        ]
        topic = ProduceRequest.TopicProduceData(self._topic, partition_data=data)
        timeout_ms = self._settings.request_timeout_ms
        request = ProduceRequest(None, self._settings.acks, timeout_ms, [topic])
        connection = self._admin.connection(broker)
        versioned = Versioned(ApiKey.PRODUCE, lambda _: request, _LAST_WITH_NAMES)
        if self._settings.acks:
            self._in_flight[broker] = _InFlight(connection, connection.send(versioned), batches)
        else:
            connection.send(versioned)

    def _receive(self, broker: int) -> None:
        """Wait for the response to the request that a broker handles, if any."""
        in_flight = self._in_flight.pop(broker, None)
        if in_flight is None:
            return
        try:
            response = in_flight.connection.wait(in_flight.pending, self._settings.request_timeout_ms)
        except (JavaError, LostConnectionError) as error:
            self._unsent(in_flight.batches, error)
            return
        results = {row.index: row for topic in response.responses for row in topic.partition_responses}
        for batch in reversed(in_flight.batches):
            row = results[batch.partition]
            code = error_of(row.error_code)
            if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                continue
            refusal = error_of_code(code, row.error_message)
            if code.retriable:
                self._again(batch, refusal)
            else:
                self._give_up(batch, refusal)

    def _unsent(self, batches: list[Batch], error: JavaError | LostConnectionError) -> None:
        """Queue the batches that no broker has confirmed again, unless retries cannot help."""
        for batch in reversed(batches):
            if isinstance(error, LostConnectionError):
                self._again(batch, error_of_code(ErrorCode.NETWORK_EXCEPTION))
            elif error.code is not None and error.code.retriable:
                self._again(batch, error)
            else:
                self._give_up(batch, error)

    def _again(self, batch: Batch, error: JavaError) -> None:
        """Put a batch back at the front of its partition's queue, after a pause; give up after too many
        failures.
        """
        waited_ms = (time.monotonic() - batch.first_at) * 1000
        place = f"{self._topic}-{batch.partition}"
        if waited_ms > self._settings.delivery_timeout_ms:
            text = (
                f"Expiring {len(batch.sizes)} record(s) for {place}:{round(waited_ms)} ms has passed since "
                "batch creation"
            )
            self._give_up(batch, JavaError("TimeoutException", text))
            return
        if batch.failures >= self._settings.retries:
            self._give_up(batch, error)
            return
        left = self._settings.retries - batch.failures - 1
        name = (error.code or ErrorCode.NETWORK_EXCEPTION).name
        log_line(
            "WARN",
            f"[Producer clientId={self._settings.client_id}] Got error produce response on topic-partition "
            f"{place}, retrying ({left} attempts left). Error: {name}",
            _LOGGER,
        )
        batch.failures += 1
        self._full.setdefault(batch.partition, deque()).appendleft(batch)
        pause(self._settings.retry_backoff_ms / 1000)
        self._view.try_refresh(max(self._settings.delivery_timeout_ms - waited_ms, 1))

    def _give_up(self, batch: Batch, error: JavaError) -> None:
        """Report the records of a batch as failed. An idempotent producer then gets a new producer id for
        later batches.
        """
        self._producer = NO_PRODUCER
        for later in self._full.get(batch.partition, ()):
            later.producer = NO_PRODUCER
        for key, value in batch.sizes:
            self._failed(key, value, error)
