"""One scenario played to one broker, and what the broker answered."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from differential.building import build
from differential.normal import Normaliser
from kcompat.protocol.api_keys import API_FACTS, ApiKey, request_class, response_class
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually, limit_s
from support.raw_client import RawClient, request_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CLIENT_ID = "raw"
NOBODY = b"\x01" * 16
"""A topic id that no topic has."""
FIRST_WITH_IDS = {ApiKey.PRODUCE: 13, ApiKey.FETCH: 13, ApiKey.OFFSET_COMMIT: 10, ApiKey.OFFSET_FETCH: 10}
"""From these versions on topics are named by their ids."""
PATIENCE_S = 8.0
"""How long an answer may take before the transcript calls the broker silent."""
LONG_PATIENCE_S = 60.0
"""How long a fresh broker on a busy machine may take until it shows what it has been told."""

Step = tuple[str, Any]


class Wire(RawClient):
    """A raw connection that also sends and receives bytes as they are."""

    def send_frame(self, body: bytes) -> None:
        """Send a frame that may or may not be a request."""
        self._socket.sendall(struct.pack(">i", len(body)) + body)

    def receive_frame(self, patience_s: float) -> bytes:
        """The next frame without its length."""
        self._socket.settimeout(patience_s)
        return self._read(struct.unpack(">i", self._read(4))[0])


class Play:
    """The stage of a scenario: connections to one broker, and the transcript of what it answered.

    What is asked with `call`, `receive` or `reply` is compared; what is asked with `do` is not. A
    connection is known by a name and opened at first use; one that the broker closed is opened again.
    Names that a scenario gives to topics and groups are the same on both brokers, and nobody else's.
    `main_host` is the address of this machine from which the connection called "main" comes.
    """

    def __init__(self, port: int, prefix: str, main_host: str | None = None) -> None:
        self.prefix = prefix
        self._main_host = main_host
        self.transcript: list[Step] = []
        self._port = port
        self._wires: dict[str, Wire] = {}
        self._normaliser = Normaliser(port)

    def name(self, suffix: str = "t") -> str:
        """A name for a topic, a group or an id."""
        return f"{self.prefix}-{suffix}"

    def is_own(self, name: str | None) -> bool:
        """Whether this play has made this name; names of a play in version 10 only look like those in 1."""
        return (name or "").startswith(self.name(""))

    # Requests

    def call(
        self,
        key: ApiKey,
        version: int,
        /,
        *,
        on: str = "main",
        trim: Callable[[Any], None] | None = None,
        patience_s: float = PATIENCE_S,
        **fields: Any,
    ) -> Any:
        """Ask, and record the answer after `trim` has taken away what is not this scenario's business.

        Fields that the version does not have are left out. None when the broker closed or kept silent.
        """
        self.send(key, version, on=on, **fields)
        return self.receive(key, version, on=on, trim=trim, patience_s=patience_s)

    def do(self, key: ApiKey, version: int, /, *, on: str = "setup", **fields: Any) -> Any:
        """Ask without recording; ConnectionError or TimeoutError when there is no answer."""
        self.send(key, version, on=on, **fields)
        return _decoded(key, version, self._wire(on).receive_frame(limit_s(PATIENCE_S)))

    def send(self, key: ApiKey, version: int, /, *, on: str = "main", **fields: Any) -> None:
        """Send a request; `receive` takes the answer later."""
        if version >= FIRST_WITH_IDS.get(key, version + 1):
            fields = self._with_ids(fields)
        self.send_frame(request_bytes(key, version, **fields), on=on)

    def _with_ids(self, value: Any) -> Any:
        """Return the fields with the id of every topic beside its name."""
        if isinstance(value, list):
            return [self._with_ids(item) for item in value]
        if not isinstance(value, dict):
            return value
        fields = {name: self._with_ids(item) for name, item in value.items()}
        name = fields.get("topic", fields.get("name"))
        return fields if name is None else {"topic_id": self.topic_id(name), **fields}

    def receive(
        self,
        key: ApiKey,
        version: int,
        /,
        *,
        on: str = "main",
        trim: Callable[[Any], None] | None = None,
        patience_s: float = PATIENCE_S,
    ) -> Any:
        """Record the next answer on a connection."""
        label = f"{key.name} v{version}"
        frame = self._frame(on, label, patience_s)
        if frame is None:
            return None
        response = _decoded(key, version, frame)
        if trim is not None:
            trim(response)
        self.transcript.append((label, self._normaliser.message(response)))
        return response

    # Bytes

    def send_frame(self, body: bytes, *, on: str = "main") -> None:
        """Send a frame of any bytes."""
        self._wire(on).send_frame(body)

    def reply(self, label: str, *, on: str = "main", size: int | None = None, patience_s: float = 3) -> None:
        """Record the next frame as bytes, the first `size` of them."""
        frame = self._frame(on, label, patience_s)
        if frame is not None:
            self.transcript.append((label, frame[:size].hex()))

    def note(self, label: str, value: Any) -> None:
        """Record a value that the scenario found out."""
        self.transcript.append((label, value))

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Ask again until the broker shows what it has been told: Kafka's metadata comes after the answer."""
        eventually(condition, what, LONG_PATIENCE_S, poll_s=0.005)

    def close(self) -> None:
        """Close every connection."""
        for wire in self._wires.values():
            wire.close()
        self._wires.clear()

    def _wire(self, on: str) -> Wire:
        if on not in self._wires:
            source = self._main_host if on == "main" else None
            self._wires[on] = Wire(("127.0.0.1", self._port), source=source)
        return self._wires[on]

    def _frame(self, on: str, label: str, patience_s: float) -> bytes | None:
        try:
            return self._wire(on).receive_frame(limit_s(patience_s))
        except (ConnectionError, TimeoutError) as fault:
            word = "<silent>" if isinstance(fault, TimeoutError) else "<closed>"
            self.transcript.append((label, word))
            self._wires.pop(on).close()
            return None

    # What most scenarios need first

    def topic(self, suffix: str = "t", partitions: int = 1, **configs: str) -> str:
        """A new topic that the broker shows with its leaders; config names have _ for their dots."""
        name = self.name(suffix)
        rows = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
        wanted = {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": rows}
        created = self.do(ApiKey.CREATE_TOPICS, 4, topics=[wanted], timeout_ms=10_000)
        assert created.topics[0].error_code == 0, created
        self.await_topic(name, partitions)
        return name

    def await_topic(self, name: str, partitions: int = 1) -> None:
        """Wait until the broker serves this many partitions of a topic."""
        self.until(lambda: self._has_leaders(name, partitions), f"{name} has leaders")

    def _has_leaders(self, name: str, partitions: int) -> bool:
        asked = self.do(ApiKey.METADATA, 9, topics=[{"name": name}], allow_auto_topic_creation=False)
        described = asked.topics[0]
        if described.error_code or len(described.partitions) != partitions:
            return False
        offsets = [{"partition_index": index, "timestamp": -1} for index in range(partitions)]
        asked = self.do(ApiKey.LIST_OFFSETS, 5, topics=[{"name": name, "partitions": offsets}])
        return not any(row.error_code for row in asked.topics[0].partitions)

    def topic_id(self, name: str) -> bytes:
        """The id of a topic, `NOBODY` where there is none."""
        asked = self.do(ApiKey.METADATA, 10, topics=[{"name": name}], allow_auto_topic_creation=False)
        found = asked.topics[0]
        return self.known_id(NOBODY if found.error_code else bytes(found.topic_id))

    def known_id(self, topic_id: bytes) -> bytes:
        """A topic id that the scenario is about to name: ids are numbered as the scenario meets them."""
        self._normaliser.learn("topic_id", topic_id)
        return topic_id

    def append(self, topic: str, *values: bytes | None, partition: int = 0, **options: Any) -> int:
        """Append one batch of these values, as `batch` makes it; the offset of the first."""
        return self.append_batch(topic, batch(*values, **options), partition)

    def append_batch(self, topic: str, data: bytes, partition: int = 0) -> int:
        """Append one batch; the offset of its first record."""
        rows = [{"name": topic, "partition_data": [{"index": partition, "records": data}]}]
        answer = self.do(ApiKey.PRODUCE, 9, acks=-1, timeout_ms=10_000, topic_data=rows)
        assert answer.responses[0].partition_responses[0].error_code == 0, answer
        return int(answer.responses[0].partition_responses[0].base_offset)


def request_bytes(key: ApiKey, version: int, /, **fields: Any) -> bytes:
    """A whole request without its length; fields that the version does not have are left out."""
    request = build(request_class(key), version, fields)
    return request_frame(request, version, 7, CLIENT_ID)[4:]


def _decoded(key: ApiKey, version: int, frame: bytes) -> Any:
    header_size = 5 if API_FACTS[key].response_header_version(version) else 4
    return response_class(key).decode(memoryview(frame), version, header_size)


def batch(
    *values: bytes | None, times: Sequence[int] = (), key: bytes | None = b"k", **options: Any
) -> bytes:
    """A record batch of these values, at the given times or at 1000, 2000, ... ms."""
    stamps = times or [1000 * (index + 1) for index in range(len(values))]
    records = [Record(index, stamps[index], key, value) for index, value in enumerate(values)]
    return bytes(build_batch(records, **options))
