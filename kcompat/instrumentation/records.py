"""The record of a topic as a value for tests."""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec import Struct

from kcompat.errors import UsageError
from kcompat.records.layout import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE

_SHOWN: Final = 60
"""Number of bytes of a key or value that the `repr` of a record shows."""


class Record(Struct, frozen=True):
    """A record of a topic."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Time in ms since 1970; -1 if the record has none."""
    timestamp_type: str
    """`CreateTime` if the producer set the timestamp, `LogAppendTime` if the broker did, `NoTimestampType` if
    the record has none."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    producer_id: int = NO_PRODUCER_ID
    """Id of an idempotent or transactional producer; -1 for any other producer."""
    producer_epoch: int = NO_PRODUCER_EPOCH
    sequence: int = NO_SEQUENCE
    """Sequence number that an idempotent producer gave to the record; -1 if there is none."""
    is_transactional: bool = False
    """Whether the record was written in a transaction."""

    @property
    def text(self) -> str | None:
        """The value as UTF-8 text. Raises UsageError if it is not UTF-8."""
        try:
            return None if self.value is None else self.value.decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"the value of {self!r} is no UTF-8 text: use .value") from error

    def json(self) -> Any:
        """Return the value, decoded from JSON; None for a null value. Raises UsageError if it is not JSON."""
        try:
            return None if self.value is None else json.loads(self.value)
        except ValueError as error:
            raise UsageError(f"the value of {self!r} is not JSON: use .value or .text") from error

    def __repr__(self) -> str:
        headers = f" headers={dict(self.headers)!r}" if self.headers else ""
        return (
            f"<Record {self.topic}-{self.partition}@{self.offset} "
            f"key={_short(self.key)} value={_short(self.value)}{headers}>"
        )


def _short(data: bytes | None) -> str:
    if data is None or len(data) <= _SHOWN:
        return repr(data)
    return f"{data[:_SHOWN]!r}... ({len(data)} bytes)"
