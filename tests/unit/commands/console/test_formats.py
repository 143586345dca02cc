"""Records are printed as the formatters of `kafka-console-consumer` print them."""

from __future__ import annotations

import json
import struct

import pytest

from kcompat.admin.errors import JavaError
from kcompat.commands.console.consumed import Consumed
from kcompat.commands.console.formats import DEFAULT, JsonFormatter, formatter_named
from kcompat.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue

PLACE = ("orders", 3, 17)
RECORD = Consumed(*PLACE, 1234, "CreateTime", b"k", None, (("h", b"1"), ("i", None)))
SERIALIZATION = "org.apache.kafka.common.serialization."
OFFSETS = "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"


@pytest.mark.parametrize(
    ("properties", "shown"),
    [
        ({}, b"null\n"),
        ({"print.key": "true", "null.literal": "-", "key.separator": "|"}, b"k|-\n"),
        ({"print.value": "false"}, b""),
        ({"print.value": "false", "print.offset": "true", "line.separator": ";"}, b"Offset:17;"),
        (
            {"print.timestamp": "true", "print.partition": " TRUE", "print.headers": "true"},
            b"CreateTime:1234\tPartition:3\th:1,i:null\tnull\n",
        ),
    ],
)
def test_parts_are_chosen_by_properties(properties: dict[str, str], shown: bytes) -> None:
    formatter = formatter_named(DEFAULT, properties)
    assert formatter is not None
    assert formatter(RECORD) == shown


def test_json_has_everything_of_a_record() -> None:
    formatter = JsonFormatter({"key.deserializer": f"{SERIALIZATION}BytesDeserializer"})
    shown = formatter(Consumed(*PLACE, 1234, "CreateTime", b"\xff", b"\xe9", (("h", b"1"), ("i", None))))
    assert shown.endswith(b"}\n")
    assert json.loads(shown) == {
        "topic": "orders",
        "partition": 3,
        "offset": 17,
        "timestamp": 1234,
        "timestampType": "CreateTime",
        "headers": [{"key": "h", "value": "1"}, {"key": "i", "value": None}],
        "key": "\\xFF",
        "value": "\ufffd",
    }
    assert json.loads(JsonFormatter({})(RECORD))["value"] is None


def test_record_without_time_and_headers_says_so() -> None:
    formatter = formatter_named(DEFAULT, {"print.timestamp": "true", "print.headers": "true"})
    assert formatter is not None
    assert formatter(Consumed(*PLACE, -1, "NoTimestampType", None, b"v")) == b"NO_TIMESTAMP\tNO_HEADERS\tv\n"


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("LongDeserializer", struct.pack(">q", -5), "-5"),
        ("IntegerDeserializer", struct.pack(">i", 7), "7"),
        ("ShortDeserializer", struct.pack(">h", 7), "7"),
        ("DoubleDeserializer", struct.pack(">d", 1e10), "1.0E10"),
        ("DoubleDeserializer", struct.pack(">d", 100.0), "100.0"),
        ("DoubleDeserializer", struct.pack(">d", 1.5e-7), "1.5E-7"),
        ("FloatDeserializer", struct.pack(">f", 0.1), "0.1"),
        ("BooleanDeserializer", b"\1", "true"),
        ("BytesDeserializer", b"a\\\xff", "a\\x5C\\xFF"),
        ("StringDeserializer", b"\xff", "\ufffd"),
        ("UUIDDeserializer", b"00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_deserializers_make_text(name: str, data: bytes, text: str) -> None:
    formatter = formatter_named(DEFAULT, {"value.deserializer": SERIALIZATION + name})
    assert formatter is not None
    assert formatter(Consumed(*PLACE, 0, "CreateTime", None, data)) == f"{text}\n".encode()


def test_deserializer_refuses_data_of_another_size() -> None:
    formatter = formatter_named(DEFAULT, {"value.deserializer": f"{SERIALIZATION}LongDeserializer"})
    assert formatter is not None
    with pytest.raises(JavaError, match="Size of data received by LongDeserializer is not 8"):
        formatter(RECORD)


def test_unknown_deserializer_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    formatter = formatter_named(DEFAULT, {"value.deserializer": "my.Own"})
    assert formatter is not None
    assert formatter(Consumed(*PLACE, 0, "CreateTime", None, b"v")) == b"v\n"
    assert "Unable to instantiate a deserializer from my.Own" in capsys.readouterr().err


def test_formatters_have_names() -> None:
    silent = formatter_named("kafka.tools.NoOpMessageFormatter", {})
    assert silent is not None
    assert silent(RECORD) == b""
    assert formatter_named("my.Own", {}) is None


def test_committed_offsets_are_shown_as_json() -> None:
    formatter = formatter_named(OFFSETS, {})
    assert formatter is not None
    key = b"\0\1" + b"".join(map(bytes, OffsetCommitKey("g", "t", 2).encode(0)))
    value = b"\0\3" + b"".join(map(bytes, OffsetCommitValue(5, 0, "m", 99).encode(3)))
    shown = json.loads(formatter(Consumed(*PLACE, 0, "CreateTime", key, value)))
    assert shown["key"] == {"version": 1, "data": {"group": "g", "topic": "t", "partition": 2}}
    assert shown["value"]["version"] == 3
    assert shown["value"]["data"].items() >= {"offset": 5, "leaderEpoch": 0, "metadata": "m"}.items()
    assert json.loads(formatter(Consumed(*PLACE, 0, "CreateTime", key, None)))["value"] is None
    assert formatter(Consumed(*PLACE, 0, "CreateTime", b"\0\2" + key[2:], value)) == b""
