"""Topic ids and other uuids: 16 bytes on the wire, unpadded base64url as text, as Kafka prints them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from uuid import UUID

from kcompat.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from random import Random

__all__ = ["ZERO_UUID", "differ", "random_uuid", "uuid_from_text", "uuid_to_text"]


def uuid_to_text(value: bytes) -> str:
    """Return the 22 characters that Kafka shows for a uuid."""
    assert len(value) == 16, "a uuid has 16 bytes"
    return base64.urlsafe_b64encode(value)[:22].decode()


def uuid_from_text(text: str) -> bytes:
    """Parse the text form of a uuid. Raises ValueError for other text."""
    try:
        value = base64.b64decode(text.rstrip("=") + "==", altchars=b"-_", validate=True)
    except ValueError as fault:
        raise ValueError(f"{text!r} is not a uuid") from fault
    if len(value) != 16:
        raise ValueError(f"{text!r} is not a uuid of 16 bytes")
    return value


def random_uuid(random: Random) -> bytes:
    """Return a version 4 uuid whose text does not begin with a dash, as Kafka draws them for topics and
    clusters.

    Text that begins with a dash would look like an option on a command line.
    """
    while True:
        value = UUID(int=random.getrandbits(128), version=4).bytes
        if value[0] >> 2 != 62:  # the dash
            return value


def differ(one: bytes, other: bytes) -> bool:
    """Return whether both ids are known and not the same."""
    return one != other and ZERO_UUID not in (one, other)
