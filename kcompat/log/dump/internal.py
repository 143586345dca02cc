"""The records of Kafka's internal topics in readable form."""

from __future__ import annotations

import struct
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from kcompat.log.dump.rows import plain
from kcompat.protocol.message import Message
from kcompat.protocol.schema import ProtocolViolation
from kcompat.topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from kcompat.records.record import Record

    Decode = Callable[[Record], tuple[Any, Any]]
    """Function that returns the key and value of a record in their JSON form."""

_PREFIX = struct.Struct(">h")
_KEY_VERSION = 0


def decoder_of(topic: str) -> Decode:
    """Return the function that decodes the records of a topic; records of a topic that is not internal are
    returned as bytes.

    A record of an internal topic that does not fit its schema is also returned as bytes.
    """
    types = types_of(topic)
    if not types:
        return _as_they_are

    def decode(record: Record) -> tuple[Any, Any]:
        try:
            return _decode(types, record)
        except ProtocolViolation:
            return _as_they_are(record)

    return decode


def _as_they_are(record: Record) -> tuple[Any, Any]:
    return plain(record.key), plain(record.value)


def _decode(types: dict[int, tuple[type[Message], type[Message]]], record: Record) -> tuple[Any, Any]:
    number = _prefix(record.key)
    if number not in types:
        return _as_they_are(record)
    key_type, value_type = types[number]
    parsed = key_type.decode(memoryview(record.key or b""), _KEY_VERSION, _PREFIX.size)
    key = {"type": key_type.__name__.removesuffix("Key"), **plain(parsed)}
    if record.value is None:
        return key, None
    version = _prefix(record.value)
    if version not in value_type.versions:
        raise ProtocolViolation(f"{value_type.__name__} has no version {version}")
    value = value_type.decode(memoryview(record.value), version, _PREFIX.size)
    return key, {"version": version, **_plain_value(value)}


def _plain_value(value: Message) -> dict[str, Any]:
    """Return the fields of a value, decoding the metadata of a classic consumer group's members as well."""
    from kcompat.protocol.messages.consumer_protocol import (
        ConsumerProtocolAssignment,
        ConsumerProtocolSubscription,
    )
    from kcompat.protocol.messages.group_records import GroupMetadataValue

    fields: dict[str, Any] = plain(value)
    if isinstance(value, GroupMetadataValue) and value.protocol_type == "consumer":
        for member, shown in zip(value.members, fields["members"], strict=True):
            with suppress(ProtocolViolation):
                shown["subscription"] = _versioned(ConsumerProtocolSubscription, member.subscription)
                shown["assignment"] = _versioned(ConsumerProtocolAssignment, member.assignment)
    return fields


def _versioned(message: type[Message], data: bytes) -> Any:
    """Decode bytes that a client wrote to their version and fields.

    An unknown version is read as the newest known one, as versions only add fields.
    """
    if not data:
        return None
    version = _prefix(data)
    known = min(max(version, message.versions[0]), message.versions[-1])
    return {"version": version, **plain(message.decode(memoryview(data), known, _PREFIX.size))}


def _prefix(data: bytes | None) -> int:
    if data is None or len(data) < _PREFIX.size:
        raise ProtocolViolation("no version in front")
    number: int = _PREFIX.unpack_from(data)[0]
    return number


@cache
def types_of(topic: str) -> dict[int, tuple[type[Message], type[Message]]]:
    """Return the classes of key and value by record type; empty for a topic that is not internal."""
    if topic == CONSUMER_OFFSETS:
        from kcompat.protocol.messages import (
            consumer_group_records,
            group_records,
            share_group_records,
            streams_group_records,
        )

        return _paired(group_records, consumer_group_records, share_group_records, streams_group_records)
    if topic == TRANSACTION_STATE:
        from kcompat.protocol.messages import transaction_log

        return _paired(transaction_log)
    if topic == SHARE_GROUP_STATE:
        from kcompat.protocol.messages import share_state_records

        return _paired(share_state_records)
    return {}


def _paired(*modules: ModuleType) -> dict[int, tuple[type[Message], type[Message]]]:
    keys: dict[int, type[Message]] = {}
    values: dict[int, type[Message]] = {}
    for module in modules:
        for name, found in vars(module).items():
            if isinstance(found, type) and issubclass(found, Message) and found.record_type >= 0:
                (keys if name.endswith("Key") else values)[found.record_type] = found
    return {number: (keys[number], values[number]) for number in keys}
