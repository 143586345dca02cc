"""Answers as plain values, with all that must differ between two brokers replaced by a word."""

from __future__ import annotations

import re
import time
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from kcompat.records.batch import iter_headers
from kcompat.records.layout import HEADER_SIZE, MAGIC
from kcompat.records.message_set import inner_messages, shallow_messages

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

MAGIC_AT = 16
NOW_WINDOW_MS = 10 * 60 * 1000
NUMBERED = frozenset({"topic_id", "producer_id", "session_id"})
"""Fields whose values a broker chooses: the first that is seen is number 1, on either broker."""
TEXTS = frozenset({"error_message", "batch_index_error_message", "documentation"})
"""Fields for people: compared is whether there is a text."""
SIZES = frozenset({"total_bytes", "usable_bytes"})
ORDERED_BY = (
    "topic", "name", "topic_id", "topic_name", "group_id", "key", "resource_name", "api_key",
    "node_id", "broker_id", "user", "entity_type",
    "partition_index", "partition", "partition_id", "index", "resource_type", "log_dir", "feature",
)  # fmt: skip
"""Fields by which an array is sorted: Kafka's order is that of its hash tables."""
BY_PRODUCER = frozenset({"active_producers", "markers"})
"""Arrays that Kafka takes from a hash table of producer ids: sorted before these ids are numbered."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHORT_UUID = re.compile(r"[A-Za-z0-9_-]{22}")
"""As Kafka writes the ids of members that join a consumer group with the classic protocol."""


class Normaliser:
    """Replaces what must differ. Ids are numbered in order of appearance, so that equal stays equal."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._numbers: dict[tuple[str, Any], int] = {}

    def message(self, message: Message) -> Any:
        """A whole answer."""
        return self._value("", message)

    def learn(self, field: str, value: Any) -> None:
        """Number an id before any answer shows it."""
        self._number(field, value)

    def _value(self, field: str, value: Any) -> Any:
        if isinstance(value, msgspec.Struct):
            return {name: self._value(name, getattr(value, name)) for name in value.__struct_fields__}
        if isinstance(value, list):
            if field in BY_PRODUCER:
                value = sorted(value, key=attrgetter("producer_id"))
            return _sorted([self._value(field, item) for item in value])
        if field == "records":
            return None if value is None else self._records(memoryview(value))
        if isinstance(value, bytes | memoryview) and field not in NUMBERED:
            return bytes(value).hex()
        return self._scalar(field, value)

    def _scalar(self, field: str, value: Any) -> Any:
        word: Any = value
        if field == "port" and value == self._port:
            word = "<port>"
        elif value is None or isinstance(value, bool):
            pass
        elif field == "cluster_id":
            word = "<cluster id>"
        elif field == "log_dir":
            word = "<directory>"
        elif field in TEXTS:
            word = "<text>" if value else value
        elif field in SIZES and value > 0:
            word = "<bytes>"
        elif field in NUMBERED:
            word = self._number(field, value)
        elif field == "member_id" and _SHORT_UUID.fullmatch(value):
            word = str(self._number("uuid", value))
        elif isinstance(value, str):
            word = _UUID.sub(lambda found: str(self._number("uuid", found[0])), value)
        elif isinstance(value, int) and abs(value - time.time() * 1000) < NOW_WINDOW_MS:
            word = "<now>"
        return word

    def _number(self, kind: str, value: Any) -> Any:
        if value in (0, -1, bytes(16)) and not (kind == "producer_id" and value == 0):
            return value if not isinstance(value, bytes) else None
        return f"<{kind} {self._numbers.setdefault((kind, value), len(self._numbers) + 1)}>"

    def _records(self, view: memoryview) -> Any:
        """Each batch: its header field by field and its records as bytes; then what is left over."""
        if len(view) > MAGIC_AT and view[MAGIC_AT] < MAGIC:
            return _messages(bytes(view))
        batches, end = [], 0
        for position, header in iter_headers(view):
            end = position + header.size
            seen = {name: self._value(name, getattr(header, name)) for name in header.__struct_fields__}
            if seen["max_timestamp"] == "<now>":
                seen["crc"] = "<of now>"
            if header.producer_id >= 0:
                seen["crc"] = "<of the producer id>"
            seen["records"] = bytes(view[position + HEADER_SIZE : end]).hex()
            batches.append(seen)
        return {"batches": batches, "rest": bytes(view[end:]).hex()}


def _messages(data: bytes) -> list[Any]:
    """The messages of magic 0 or 1; wrappers are opened, as each side compresses in its own way."""
    found = []
    for outer in shallow_messages(data):
        inner = [list(message) for message in inner_messages(outer)] if outer.codec else outer.value
        found.append([outer.offset, outer.magic, outer.attributes, outer.timestamp, outer.key, inner])
    return found


def _sorted(values: list[Any]) -> list[Any]:
    if not values or not isinstance(values[0], dict):
        return values
    names = [name for name in ORDERED_BY if name in values[0]]
    return sorted(values, key=lambda item: [str(item[name]).rjust(20) for name in names])
