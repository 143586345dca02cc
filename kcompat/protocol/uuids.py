"""Topic ids and other uuids: 16 bytes on the wire, unpadded base64url as text, as Kafka prints them."""

from __future__ import annotations

import base64
import os

from kcompat.protocol.schema import ZERO_UUID

__all__ = ["ZERO_UUID", "random_uuid", "uuid_from_text", "uuid_to_text"]


def uuid_to_text(value: bytes) -> str:
    """The 22 characters Kafka shows for a uuid."""
    assert len(value) == 16, "a uuid has 16 bytes"
    return base64.urlsafe_b64encode(value)[:22].decode()


def uuid_from_text(text: str) -> bytes:
    """Read the form of `uuid_to_text`; ValueError if it is not one."""
    try:
        value = base64.b64decode(text.rstrip("=") + "==", altchars=b"-_", validate=True)
    except ValueError as fault:
        raise ValueError(f"{text!r} is not a uuid") from fault
    if len(value) != 16:
        raise ValueError(f"{text!r} is not a uuid of 16 bytes")
    return value


def random_uuid() -> bytes:
    """A random version 4 uuid that is not one Kafka reserves and whose text does not begin with a dash.

    Text that begins with a dash would look like an option on a command line.
    """
    while True:
        value = bytearray(os.urandom(16))
        value[6] = value[6] & 0x0F | 0x40
        value[8] = value[8] & 0x3F | 0x80
        if value[0] >> 2 != 62:
            return bytes(value)
