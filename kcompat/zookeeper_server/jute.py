"""ZooKeeper's wire records. Pure: converts bytes to values and back.

A record is its fields one after another, in the order of their declaration, as ZooKeeper's `jute` encodes
them: big-endian integers, one byte for a boolean, and a count of 4 bytes before strings, buffers and lists.
Every count is checked against the number of remaining bytes before memory is allocated for it. A frame is a
length in 4 bytes, followed by one record or two (a header and a body).

The records themselves are in `zookeeper_server/records.py`.
"""

from __future__ import annotations

from functools import cache
from struct import Struct as Layout
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, get_args, get_origin, get_type_hints

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

_INT: Final = Layout(">i")
_LONG: Final = Layout(">q")

Int = Annotated[int, _INT]
Long = Annotated[int, _LONG]


class MalformedError(ValueError):
    """The bytes are not a valid encoding of the expected record."""


class JuteReader:
    """Reader of fields from the front of a buffer. Raises `MalformedError` if the buffer ends too early."""

    __slots__ = ("_data", "_position")

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)
        self._position = 0

    @property
    def left(self) -> int:
        """Number of bytes not read yet."""
        return len(self._data) - self._position

    def number(self, layout: Layout) -> int:
        """Read an integer. Raises `MalformedError`."""
        if self.left < layout.size:
            raise MalformedError("cut short")
        (value,) = layout.unpack_from(self._data, self._position)
        self._position += layout.size
        number: int = value
        return number

    def boolean(self) -> bool:
        """Read a boolean: every byte except zero is true."""
        return bytes(self._take(1)) != b"\0"

    def buffer(self) -> bytes | None:
        """Read bytes that follow their count; a count of -1 is None."""
        size = self.number(_INT)
        return None if size == -1 else bytes(self._take(size))

    def text(self) -> str:
        """Read a string that follows its count of UTF-8 bytes; invalid UTF-8 is replaced, as in Java."""
        text = self.text_or_none()
        if text is None:
            raise MalformedError("no text")
        return text

    def text_or_none(self) -> str | None:
        """Read a string; None if its count is -1."""
        size = self.number(_INT)
        return None if size == -1 else str(self._take(size), "utf-8", "replace")

    def count(self, least: int) -> int:
        """Read the count of a list whose elements have at least `least` bytes each; a count of -1 means that
        there is no list.
        """
        count = self.number(_INT)
        if count < -1 or count * least > self.left:
            raise MalformedError(f"{count} elements announced in {self.left} bytes")
        return count

    def rest(self) -> bytes:
        """Read all remaining bytes."""
        return bytes(self._take(self.left))

    def _take(self, size: int) -> memoryview:
        if not 0 <= size <= self.left:
            raise MalformedError(f"{size} bytes announced, {self.left} there")
        taken = self._data[self._position : self._position + size]
        self._position += size
        return taken


class JuteRecord(Struct, frozen=True):
    """Base of records: a value that is encoded as its annotated fields, in order."""

    @classmethod
    def decode(cls, reader: JuteReader) -> Self:
        """Read one record from the front of the remaining bytes. Raises `MalformedError`."""
        return cls(*[read(reader) for read, _, _ in _fields(cls)])

    def encode(self) -> bytes:
        """Return the record as bytes."""
        return b"".join(
            write(getattr(self, name))
            for name, (_, write, _) in zip(self.__struct_fields__, _fields(type(self)), strict=True)
        )


_Field = tuple["Callable[[JuteReader], Any]", "Callable[[Any], bytes]", int]
"""Reader and writer of a field, and the smallest number of bytes of the field."""


@cache
def _fields(record: type[JuteRecord]) -> tuple[_Field, ...]:
    hints = get_type_hints(record, include_extras=True)
    return tuple(_field(hints[name]) for name in record.__struct_fields__)


def _field(hint: Any) -> _Field:
    if get_origin(hint) is Annotated:
        layout: Layout = get_args(hint)[1]
        return lambda reader: reader.number(layout), layout.pack, layout.size
    if hint is bool:
        return JuteReader.boolean, lambda value: bytes((value,)), 1
    if hint is str:
        return JuteReader.text, lambda value: _counted(value.encode()), _INT.size
    if hint == str | None:
        return (
            JuteReader.text_or_none,
            lambda value: _INT.pack(-1) if value is None else _counted(value.encode()),
            4,
        )
    if hint == bytes | None:
        return JuteReader.buffer, lambda value: _INT.pack(-1) if value is None else _counted(value), _INT.size
    if get_origin(hint) is tuple:
        return _list_field(*get_args(hint)[:1])
    assert issubclass(hint, JuteRecord), hint
    return hint.decode, lambda value: value.encode(), sum(size for _, _, size in _fields(hint))


def _list_field(element: Any) -> _Field:
    read, write, least = _field(element)

    def read_list(reader: JuteReader) -> tuple[Any, ...]:
        return tuple(read(reader) for _ in range(reader.count(least)))

    def write_list(values: tuple[Any, ...]) -> bytes:
        return _INT.pack(len(values)) + b"".join(map(write, values))

    return read_list, write_list, _INT.size


def _counted(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


def frame(*records: JuteRecord) -> bytes:
    """Encode records as one frame, which begins with its length."""
    return _counted(b"".join(record.encode() for record in records))
