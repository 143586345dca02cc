"""What reading records can run into."""

from __future__ import annotations


class RecordsDamaged(Exception):  # noqa: N818 - says what is the matter, as Kafka's CorruptRecordException does
    """Bytes that are no records, or that expand beyond every bound. On the wire: INVALID_RECORD."""
