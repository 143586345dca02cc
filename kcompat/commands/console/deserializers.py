"""Text of bytes by the deserializers of `org.apache.kafka.common.serialization`."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kcompat.admin.errors import JavaError
from kcompat.admin.log_lines import log_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Deserialize = Callable[[bytes], str]
    """Function that returns bytes as text, as `toString` of the deserialized Java object does. Raises
    JavaError.
    """

_PACKAGE: Final = "org.apache.kafka.common.serialization."
_DECIMAL_FROM: Final = 1e-3
_DECIMAL_BELOW: Final = 1e7


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
        return java_float(value, code == ">f") if isinstance(value, float) else str(value)

    return deserialize


def java_float(value: float, is_single: bool = False) -> str:
    """Return a number as Java's `Double.toString` or, if `single`, `Float.toString` prints it."""
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    shortest = f"{_shortest_single(value)}" if is_single else repr(value)
    if value == 0 or _DECIMAL_FROM <= abs(value) < _DECIMAL_BELOW:
        text = format(Decimal(shortest), "f")
        return text if "." in text else f"{text}.0"
    sign, digits, exponent = Decimal(shortest).normalize().as_tuple()
    text = "".join(map(str, digits))
    return f"{'-' * sign}{text[0]}.{text[1:] or '0'}E{len(text) - 1 + int(exponent)}"


def _shortest_single(value: float) -> str:
    """Return the shortest decimal number that is this 32-bit number."""
    pack = struct.Struct(">f").pack
    return next(text for places in range(1, 10) if pack(float(text := f"{value:.{places}g}")) == pack(value))


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
