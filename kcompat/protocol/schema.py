"""The parts of a message declaration: wire types of fields, version ranges, facts of the whole message.

A declaration lives in `kcompat.protocol.messages` and reads like Kafka's own message schema: one class for
the union of all versions, one annotated field per Kafka field, in wire order. `decoding` and `encoding`
turn it into functions, and `message.Message`, its base, calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

ZERO_UUID: Final = bytes(16)
MAX_VALUES: Final = 1_000_000
"""Maximum number of values that one message may decode to: small array elements take far more memory than
bytes on the wire.
"""
MAX_UNKNOWN_TAGS: Final = 64
"""Maximum number of unknown tagged fields in one struct."""

OPEN_END: Final = 1 << 15
"""End of a version range written `n+`: above every int16 version."""


Payload: TypeAlias = Sized
"""Value of a `records` field when a message is encoded: bytes, a memoryview, or a range of a file."""


class ProtocolViolation(Exception):  # noqa: N818 - it is what happened
    """Error of bytes that violate the protocol; the connection that they came from is closed."""


def version_range(text: str | None) -> range:
    """Parse Kafka's notation of version ranges: `3+`, `2-5`, `4`, or None for no version."""
    if text is None:
        return range(0)
    if text.endswith("+"):
        return range(int(text[:-1]), OPEN_END)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


class Wire(NamedTuple):
    """The wire form of one field. The Python type says whether it is an array, and of which struct.

    `kind` is Kafka's primitive type, or `struct`. The version ranges are in Kafka's notation. A field with a
    `tag` is tagged in all its versions. An `ignorable` field is dropped silently when a version lacks it; any
    other must have its default then. `flexible=False` keeps the old form of lengths in flexible versions.
    """

    kind: str
    versions: str
    nullable: str | None = None
    tag: int | None = None
    ignorable: bool = False
    flexible: bool = True


boolean = partial(Wire, "bool")
int8 = partial(Wire, "int8")
int16 = partial(Wire, "int16")
uint16 = partial(Wire, "uint16")
int32 = partial(Wire, "int32")
uint32 = partial(Wire, "uint32")
int64 = partial(Wire, "int64")
float64 = partial(Wire, "float64")
string = partial(Wire, "string")
binary = partial(Wire, "bytes")
uuid = partial(Wire, "uuid")
record_bytes = partial(Wire, "records")
struct = partial(Wire, "struct")


class Part(msgspec.Struct, gc=False):
    """A struct in a message.

    Messages are trees of lists and structs without cycles, so the cyclic garbage collector need not visit
    them (`gc=False`); it took half of the time of responses about thousands of partitions.
    """


class Declaration(msgspec.Struct, gc=False):
    """The facts of a message beside its fields.

    `versions` is every version that exists, `latest_stable` the highest a broker may advertise, `flexible`
    those with compact lengths and tagged fields (KIP-482). `api_key` is -1 outside requests and responses;
    `record_type` is the number at the start of a coordinator record's key, -1 elsewhere.
    """

    versions: ClassVar[range] = range(0)
    latest_stable: ClassVar[int] = 0
    flexible: ClassVar[range] = range(0)
    api_key: ClassVar[int] = -1
    record_type: ClassVar[int] = -1


M = TypeVar("M", bound=Declaration)
M_co = TypeVar("M_co", bound=Declaration, covariant=True)
Encoder: TypeAlias = Callable[[M], list[Any]]
Framer: TypeAlias = Callable[[M, int, int], list[Any]]
"""Function that encodes a response frame, given its correlation id and the version of its header."""


class Decoder(Protocol[M_co]):
    """Function that decodes the message at `offset`; returns it with the offset of the byte after it."""

    def __call__(self, view: memoryview, offset: int, max_values: int = MAX_VALUES, /) -> tuple[M_co, int]:
        """Decode one message. Raises ProtocolViolation on damage or for more than `max_values` values."""
