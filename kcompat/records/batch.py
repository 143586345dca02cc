"""Record batches v2 (magic 2, KIP-98): the 61-byte header, the fields that a leader sets, and building a
batch.

Base offset, leader epoch and magic lie outside the CRC: a leader sets the first two in place, and recovery
must not trust the CRC for them. Kafka's counterpart: `DefaultRecordBatch`.
"""

from __future__ import annotations

import struct
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from kcompat.records import scanning
from kcompat.records.checksum import crc32c
from kcompat.records.compression import DEFAULT_MAX_MESSAGE_BYTES, Codec, compress, decompress
from kcompat.records.errors import RecordsDamaged
from kcompat.records.layout import (
    CODEC_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER,
    HEADER_PLACES,
    HEADER_SIZE,
    LENGTH_AT,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    SMALLEST_MESSAGE,
    TRANSACTIONAL_FLAG,
)
from kcompat.records.record import Record, encode_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_timestamp_of = attrgetter("timestamp")
_unpack_header = HEADER.unpack_from
_pack_long = struct.Struct(">q").pack_into
_pack_short = struct.Struct(">h").pack_into
_pack_int = struct.Struct(">i").pack_into
_pack_start = struct.Struct(">qii").pack_into  # base offset, length, leader epoch
_pack_crc = struct.Struct(">I").pack_into
_unpack_crc = struct.Struct(">I").unpack_from

_CRC_AT = HEADER_PLACES["crc"].at
_ATTRIBUTES_AT = HEADER_PLACES["attributes"].at
CRC_COVERS_FROM = _ATTRIBUTES_AT
_MAX_TIMESTAMP_AT = HEADER_PLACES["max_timestamp"].at
_PRODUCER_ID_AT = HEADER_PLACES["producer_id"].at
_PRODUCER_EPOCH_AT = HEADER_PLACES["producer_epoch"].at


class BatchHeader(msgspec.Struct, frozen=True, gc=False):
    """The unchecked fields of one batch header."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return LOG_OVERHEAD + self.batch_length

    @property
    def last_offset(self) -> int:
        """Offset of the last record the batch had when it was produced (compaction may have removed it)."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after this batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, wrapping from 2^31 - 1 to 0; -1 without a sequence."""
        if self.base_sequence < 0:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> int:
        """The compression bits, 0 to 7; a number that is no `Codec` comes from a faulty producer."""
        return self.attributes & CODEC_MASK

    @property
    def uses_log_append_time(self) -> bool:
        """Whether every record's timestamp is the broker's, kept in `max_timestamp`."""
        return self.attributes & LOG_APPEND_TIME_FLAG != 0

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction (data or marker)."""
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        """Whether the batch holds a control record, which no consumer sees."""
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Whether `base_timestamp` is the time from which tombstones may be removed (KIP-534)."""
        return self.attributes & DELETE_HORIZON_FLAG != 0


def read_header(view: bytes | bytearray | memoryview, position: int = 0) -> BatchHeader:
    """Read the header at `position`. Raises `struct.error` if fewer than 61 bytes are there."""
    return BatchHeader(*_unpack_header(view, position))


def iter_headers(view: memoryview) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and header of each whole batch, in order, up to the first that is cut short or too
    small.
    """
    position, end = 0, len(view)
    while end - position >= HEADER_SIZE:
        header = read_header(view, position)
        if header.size < HEADER_SIZE or header.size > end - position:
            return
        yield position, header
        position += header.size


def whole_batches(data: memoryview) -> Iterator[memoryview]:
    """Yield each whole batch v2, and each whole message of an old format. Raises RecordsDamaged."""
    position = 0
    while len(data) - position > MAGIC_AT:
        length = int.from_bytes(data[position + LENGTH_AT : position + LOG_OVERHEAD], "big", signed=True)
        size = LOG_OVERHEAD + length
        is_old = data[position + MAGIC_AT] != MAGIC
        if size < (LOG_OVERHEAD + SMALLEST_MESSAGE if is_old else HEADER_SIZE):
            raise RecordsDamaged(f"a batch of {size} bytes")
        if size > len(data) - position:
            return
        yield data[position : position + size]
        position += size


def crc_matches(view: memoryview, position: int, size: int) -> bool:
    """Return whether the CRC-32C of the batch of `size` bytes at `position` is right."""
    stored: int = _unpack_crc(view, position + _CRC_AT)[0]
    return stored == crc32c(view[position + _ATTRIBUTES_AT : position + size])


def assign(batch: bytearray | memoryview, base_offset: int, leader_epoch: int) -> None:
    """Write the leader's base offset and epoch into a whole batch; the CRC does not cover them."""
    _pack_start(batch, 0, base_offset, len(batch) - LOG_OVERHEAD, leader_epoch)


def set_log_append_time(view: memoryview, position: int, now_ms: int) -> None:
    """Set the time of every record of the batch at `position` to `now_ms` (LogAppendTime), and update its
    CRC.
    """
    header = read_header(view, position)
    _pack_short(view, position + _ATTRIBUTES_AT, header.attributes | LOG_APPEND_TIME_FLAG)
    _pack_long(view, position + _MAX_TIMESTAMP_AT, now_ms)
    _write_crc(view, position, header.size)


def set_max_timestamp(view: memoryview, position: int, timestamp: int) -> None:
    """Set the largest timestamp (ms) of the batch at `position`, and update its CRC."""
    _pack_long(view, position + _MAX_TIMESTAMP_AT, timestamp)
    _write_crc(view, position, read_header(view, position).size)


def set_create_time(view: memoryview, position: int) -> None:
    """Remove a producer's own LogAppendTime mark from the batch at `position`; its max timestamp stays."""
    header = read_header(view, position)
    _pack_short(view, position + _ATTRIBUTES_AT, header.attributes & ~LOG_APPEND_TIME_FLAG)
    _write_crc(view, position, header.size)


def set_producer(view: memoryview, position: int, producer_id: int, epoch: int) -> None:
    """Set the producer id and epoch of the batch at `position`, and update its CRC."""
    _pack_long(view, position + _PRODUCER_ID_AT, producer_id)
    _pack_short(view, position + _PRODUCER_EPOCH_AT, epoch)
    _write_crc(view, position, read_header(view, position).size)


def seal(batch: bytearray, attributes: int) -> None:
    """Set attributes, batch length and CRC of a batch whose records were replaced."""
    _pack_int(batch, LENGTH_AT, len(batch) - LOG_OVERHEAD)
    _pack_short(batch, _ATTRIBUTES_AT, attributes)
    _write_crc(memoryview(batch), 0, len(batch))


def read_records(batch: memoryview, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES) -> Iterator[Record]:
    """Yield the records of one whole batch at absolute offsets.

    They are decompressed piece by piece within `output_bound`. Raises `RecordsDamaged` if the bytes are no
    records, or more or fewer than the header counts.
    """
    header = read_header(batch)
    chunks = decompress(header.codec, batch[HEADER_SIZE : header.size], max_message_bytes)
    append_time = header.max_timestamp if header.uses_log_append_time else None
    count = 0
    for offset, timestamp, key, value, headers in scanning.read_records(
        chunks, header.base_offset, header.base_timestamp
    ):
        count += 1
        if count > header.record_count:
            raise RecordsDamaged(f"more than the {header.record_count} records that the header counts")
        yield Record(offset, timestamp if append_time is None else append_time, key, value, headers)
    if count != header.record_count:
        raise RecordsDamaged(f"{count} records where the header counts {header.record_count}")


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    codec: Codec = Codec.NONE,
    transactional: bool = False,
    control: bool = False,
    log_append_time: int | None = None,
) -> bytearray:
    """Build a batch of at least one record, at consecutive offsets from `base_offset`; the records' own are
    ignored.

    `log_append_time` (ms) marks the batch LogAppendTime and becomes its max timestamp.
    """
    assert records, "a batch has at least one record"
    base_timestamp = records[0].timestamp
    max_timestamp = max(map(_timestamp_of, records))
    attributes = int(codec)
    if log_append_time is not None:
        attributes |= LOG_APPEND_TIME_FLAG
        max_timestamp = log_append_time
    if transactional:
        attributes |= TRANSACTIONAL_FLAG
    if control:
        attributes |= CONTROL_FLAG
    return frame_body(
        encode_records(records, base_timestamp),
        attributes,
        len(records),
        base_timestamp,
        max_timestamp,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer=(producer_id, producer_epoch, base_sequence),
    )


def frame_body(
    body: bytearray,
    attributes: int,
    count: int,
    base_timestamp: int,
    max_timestamp: int,
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer: tuple[int, int, int] = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE),
    level: int | None = None,
) -> bytearray:
    """Build a batch around `count` encoded records, compressed by the codec in `attributes` at `level`.

    `producer` is id, epoch and base sequence.
    """
    codec = attributes & CODEC_MASK
    batch = bytearray(HEADER_SIZE)
    batch += compress(Codec(codec), body, level) if codec else body
    HEADER.pack_into(
        batch, 0, base_offset, len(batch) - LOG_OVERHEAD, leader_epoch, MAGIC, 0, attributes, count - 1,
        base_timestamp, max_timestamp, *producer, count,
    )  # fmt: skip
    _write_crc(memoryview(batch), 0, len(batch))
    return batch


def _write_crc(view: memoryview, position: int, size: int) -> None:
    _pack_crc(view, position + _CRC_AT, crc32c(view[position + _ATTRIBUTES_AT : position + size]))
