"""Text of bytes by the deserializers of `org.apache.kafka.common.serialization`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kcompat.admin.errors import JavaError
from kcompat.admin.log_lines import log_line
from kcompat.config.java_text import java_double

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Deserialize = Callable[[bytes], str]
    """Function that returns bytes as text, as `toString` of the deserialized Java object does. Raises
    JavaError.
    """

_PACKAGE: Final = "org.apache.kafka.common.serialization."


def deserializer_named(properties: Mapping[str, str], name: str) -> Deserialize | None:
    """Return the deserializer of the class that a property names.

    Returns None without the property, and for a class that kcompat does not know, which is logged.
    """
    wanted = properties.get(name)
    if wanted is None:
        return None
    found = _DESERIALIZERS.get(wanted.removeprefix(_PACKAGE)) if wanted.startswith(_PACKAGE) else None
    if found is None:
        log_line(
            "ERROR",
            f"Unable to instantiate a deserializer from {wanted}: kcompat knows those of {_PACKAGE[:-1]}",
            "org.apache.kafka.tools.consumer.DefaultMessageFormatter",
        )
    return found


def _number(name: str, code: str) -> Deserialize:
    unpack = struct.Struct(code)

    def deserialize(data: bytes) -> str:
        if len(data) != unpack.size:
            raise JavaError("SerializationException", f"Size of data received by {name} is not {unpack.size}")
        (value,) = unpack.unpack(data)
        return java_double(value, is_single=code == ">f") if isinstance(value, float) else str(value)

    return deserialize


def _string(data: bytes) -> str:
    return data.decode(errors="replace")


def _bytes(data: bytes) -> str:
    """Return bytes as Kafka's `Bytes.toString` prints them: all but printable ASCII in hexadecimal form."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte != ord("\\") else f"\\x{byte:02X}" for byte in data)


def _boolean(data: bytes) -> str:
    if len(data) != 1:
        raise JavaError("SerializationException", "Size of data received by BooleanDeserializer is not 1")
    if data[0] > 1:
        raise JavaError(
            "SerializationException", f"Unexpected byte received by BooleanDeserializer: {data[0]}"
        )
    return "true" if data[0] else "false"


def _uuid(data: bytes) -> str:
    try:
        return str(UUID(data.decode()))
    except ValueError as error:
        raise JavaError("SerializationException", "Error parsing data into UUID") from error


_DESERIALIZERS: Final[dict[str, Deserialize]] = {
    "StringDeserializer": _string,
    "BytesDeserializer": _bytes,
    "BooleanDeserializer": _boolean,
    "UUIDDeserializer": _uuid,
    **{
        name: _number(name, code)
        for name, code in (
            ("ShortDeserializer", ">h"),
            ("IntegerDeserializer", ">i"),
            ("LongDeserializer", ">q"),
            ("FloatDeserializer", ">f"),
            ("DoubleDeserializer", ">d"),
        )
    },
}
