"""The names in an X.509 certificate, which identify a client and are compared at a renewal, read from its
DER.

The certificates come from OpenSSL, which has already parsed them; bytes that cannot be parsed here are an
error. The standard `ssl` shows names in a form from which Java's text of them cannot be made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

SEQUENCE: Final = 0x30
_VERSION: Final = 0xA0
_EXTENSIONS: Final = 0xA3
_ALTERNATIVE_NAMES: Final = bytes((0x55, 0x1D, 0x11))  # 2.5.29.17


class DerError(ValueError):
    """Error of bytes that are not the expected DER."""


class Element(Struct, frozen=True):
    """One DER value: its tag, its content, and both with the length between them."""

    tag: int
    content: bytes
    encoded: bytes

    def parts(self) -> list[Element]:
        """Return the DER values in the content. Raises `DerError`."""
        return list(elements(self.content))


class Certificate(Struct, frozen=True):
    """The names in a certificate, as DER."""

    subject: bytes
    """The distinguished name of the subject."""
    alternative_names: frozenset[bytes]
    """The subject's alternative names, each with its kind."""


def elements(data: bytes) -> Iterator[Element]:
    """Yield the DER values in `data`, one after another. Raises `DerError`."""
    start = 0
    while start < len(data):
        if len(data) - start < 2:
            raise DerError("a value has no length")
        tag, size, begin = data[start], data[start + 1], start + 2
        if tag & 0x1F == 0x1F:
            raise DerError("a tag has several bytes")
        if size > 0x7F:
            count = size & 0x7F
            if not 0 < count <= 4 or len(data) - begin < count:
                raise DerError("a length cannot be read")
            size = int.from_bytes(data[begin : begin + count], "big")
            begin += count
        end = begin + size
        if end > len(data):
            raise DerError("a value is longer than what contains it")
        yield Element(tag, data[begin:end], data[start:end])
        start = end


def read_certificate(data: bytes) -> Certificate:
    """Return the names in a certificate. Raises `DerError`."""
    try:
        fields = next(elements(data)).parts()[0].parts()
        if fields[0].tag == _VERSION:
            del fields[0]
        subject = fields[4]
        if subject.tag != SEQUENCE:
            raise DerError("the subject is no sequence")
        names: frozenset[bytes] = frozenset()
        for field in fields[6:]:
            if field.tag == _EXTENSIONS:
                names = _alternative_names(field.parts()[0])
        return Certificate(subject.encoded, names)
    except (IndexError, StopIteration, ValueError) as error:
        raise DerError("a part of the certificate is missing or malformed") from error


def _alternative_names(extensions: Element) -> frozenset[bytes]:
    for extension in extensions.parts():
        identifier, *rest = extension.parts()
        if identifier.content == _ALTERNATIVE_NAMES:
            names = next(elements(rest[-1].content))
            return frozenset(name.encoded for name in names.parts())
    return frozenset()
