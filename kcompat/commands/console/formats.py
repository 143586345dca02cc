"""Records as text: the message formatters of `kafka-console-consumer`.

`DefaultMessageFormatter` prints what `--property print.…` asks for, and `NoOpMessageFormatter` nothing. Those
of internal topics print one JSON object a record, without a line end (Kafka's `ApiMessageFormatter`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from kcompat.commands.console.deserializers import deserializer_named
from kcompat.topics import CONSUMER_OFFSETS, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.commands.console.consumed import Consumed
    from kcompat.commands.console.deserializers import Deserialize

    Formatter = Callable[[Consumed], bytes]
    """Function that returns the bytes to print for a record. Raises JavaError for a refused one."""

_PACKAGE: Final = "org.apache.kafka.tools.consumer."
DEFAULT: Final = f"{_PACKAGE}DefaultMessageFormatter"

OLD_NAMES: Final = {
    f"kafka.tools.{name}": f"{_PACKAGE}{name}"
    for name in ("DefaultMessageFormatter", "LoggingMessageFormatter", "NoOpMessageFormatter")
}
"""Names of formatters before Kafka 4, which 3.9 accepts with a warning."""

_INTERNAL: Final = {
    f"{_PACKAGE}OffsetsMessageFormatter": (CONSUMER_OFFSETS, range(2)),
    f"{_PACKAGE}GroupMetadataMessageFormatter": (CONSUMER_OFFSETS, range(2, 3)),
    f"{_PACKAGE}TransactionLogMessageFormatter": (TRANSACTION_STATE, range(1)),
}
"""Topic whose records a formatter shows, and the versions of the record keys that it shows."""


def formatter_named(name: str, properties: Mapping[str, str]) -> Formatter | None:
    """Return the formatter of a Java class with these properties; None if there is none of that name."""
    name = OLD_NAMES.get(name, name)
    if name in (DEFAULT, f"{_PACKAGE}LoggingMessageFormatter"):
        return DefaultFormatter(properties)
    if name == f"{_PACKAGE}NoOpMessageFormatter":
        return lambda _: b""
    if name in _INTERNAL:
        from kcompat.commands.console.internal_records import as_json

        return partial(as_json, *_INTERNAL[name])
    return None


class DefaultFormatter:
    """Formatter of keys, values, headers and positions, as properties ask for them."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        def asks_for(part: str, *, default: bool = False) -> bool:
            name = f"print.{part}"
            return properties[name].strip().lower() == "true" if name in properties else default

        def text(name: str, default: str) -> bytes:
            return properties.get(name, default).encode()

        self._separator = text("key.separator", "\t")
        self._line_end = text("line.separator", "\n")
        self._between_headers = text("headers.separator", ",")
        self._null = text("null.literal", "null")
        self._key = deserializer_named(properties, "key.deserializer")
        self._value = deserializer_named(properties, "value.deserializer")
        self._header = deserializer_named(properties, "headers.deserializer")
        parts: list[tuple[bool, Formatter]] = [
            (asks_for("timestamp"), _timestamp),
            (asks_for("partition"), lambda record: b"Partition:%d" % record.partition),
            (asks_for("offset"), lambda record: b"Offset:%d" % record.offset),
            (asks_for("headers"), self._headers),
            (asks_for("key"), lambda record: self._text(self._key, record.key)),
            (asks_for("value", default=True), lambda record: self._text(self._value, record.value)),
        ]
        self._parts = [show for is_shown, show in parts if is_shown]

    def __call__(self, record: Consumed) -> bytes:
        """Return the parts of a record that are shown, with separators between them and a line end."""
        if not self._parts:
            return b""
        return self._separator.join([show(record) for show in self._parts]) + self._line_end

    def _text(self, deserialize: Deserialize | None, data: bytes | None) -> bytes:
        present = self._null if data is None else data
        return present if deserialize is None else deserialize(present).encode()

    def _headers(self, record: Consumed) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self._between_headers.join(
            [name.encode() + b":" + self._text(self._header, value) for name, value in record.headers]
        )


class JsonFormatter:
    """Formatter of records as JSON, one object a line, which Kafka's command does not have."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Show keys, values and values of headers as the deserializers of `properties` do, else as UTF-8."""
        self._texts = [
            deserializer_named(properties, f"{part}.deserializer") or _utf_8
            for part in ("key", "value", "headers")
        ]

    def __call__(self, record: Consumed) -> bytes:
        """Return all that is known of a record."""
        key, value, header = self._texts
        fields = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestampType": record.timestamp_type,
            "headers": [{"key": name, "value": _or_none(header, data)} for name, data in record.headers],
            "key": _or_none(key, record.key),
            "value": _or_none(value, record.value),
        }
        return msgspec.json.encode(fields) + b"\n"


def _utf_8(data: bytes) -> str:
    return data.decode(errors="replace")


def _or_none(text: Deserialize, data: bytes | None) -> str | None:
    return None if data is None else text(data)


def _timestamp(record: Consumed) -> bytes:
    if record.timestamp_type == "NoTimestampType":
        return b"NO_TIMESTAMP"
    return f"{record.timestamp_type}:{record.timestamp}".encode()
