"""The native and the pure-Python scanner say the same of any bytes: whole records, damaged ones, garbage."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kcompat.records import _python, scanning
from kcompat.records.batch import build_batch, crc_matches, read_header
from kcompat.records.compression import Codec
from kcompat.records.record import Record, append_varint, encode_records
from support.fuzzing import exact, examples
from support.record_strategies import clipped, edited

_native = pytest.importorskip("kcompat.records._native", exc_type=ImportError)

HEADER = struct.Struct(">qiibIhiqqqhii")

LONG = st.sampled_from([0, 1, 5, -1, -5, 2**31, 2**63 - 1, -(2**63)]) | st.integers(-(2**63), 2**63 - 1)
FAR = 2**63 - 1
NULLABLE = (
    st.none()
    | st.binary(max_size=20)
    | st.binary(min_size=60, max_size=200)
    | st.integers(8180, 8200).map(bytes)  # the length in two bytes and in three
)
RECORDS = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp=st.integers(-(2**40), 2**40) | st.integers(-(2**21), 2**21) | st.integers(-70, 70),
        key=NULLABLE,
        value=NULLABLE,
        headers=st.lists(st.tuples(st.text(max_size=5), NULLABLE), max_size=3).map(tuple),
    ),
    max_size=80,
)
WHOLE = st.builds(lambda records, base: bytes(encode_records(records, base)), RECORDS, st.integers(0, 2**40))


@st.composite
def framed(draw: st.DrawFn) -> bytes:
    """Records whose lengths are right and whose insides are anything: the fields are reached."""
    body = bytearray()
    field = st.integers(-3, 20) | LONG
    for _ in range(draw(st.integers(1, 5))):
        inside = bytearray(1)
        for value in draw(st.lists(field, max_size=8)):
            append_varint(inside, value)
            if draw(st.integers(0, 7)) == 0:  # longer than need be
                inside[-1] |= 0x80
                inside += bytes([0x80] * draw(st.integers(0, 3)) + [0])
        inside += draw(st.binary(max_size=12))
        append_varint(body, len(inside))
        body += inside
    return bytes(body)


BYTES = WHOLE | clipped(WHOLE) | WHOLE.flatmap(edited) | framed() | st.binary(max_size=100)


@given(BYTES, st.integers(-1, 2), LONG)
@settings(max_examples=examples(500))
def test_both_scan_alike(body: bytes, first_index: int, base_timestamp: int) -> None:
    assert _native.scan(exact(body), first_index, base_timestamp) == _python.scan(
        body, first_index, base_timestamp
    )


@st.composite
def batches(draw: st.DrawFn) -> bytes:
    """Batches, nearly all with a header that says something unusual or untrue."""
    body = draw(BYTES)
    count, _, _, newest, *_ = _native.scan(body, 0, 5)
    sane = [0, 49 + len(body), -1, 2, 1, 0, count - 1, 5, newest, -1, -1, -1, count]
    fields = list(sane)
    for _ in range(draw(st.integers(0, 2))):
        fields[draw(st.integers(0, 12))] = draw(st.integers(-2, 2) | st.just(2**15))
    try:
        header = HEADER.pack(*fields)
    except struct.error:
        header = HEADER.pack(*sane)
    batch = (header + body)[: draw(st.just(10**7) | st.integers(0, 70))]
    return sealed(batch) if draw(st.integers(0, 9)) else batch


def sealed(batch: bytes) -> bytes:
    """With the right CRC, if it has room for one."""
    if len(batch) < HEADER.size:
        return batch
    crc = crc32c(batch[21:])
    return batch[:17] + crc.to_bytes(4, "big") + batch[21:]


SPAN = st.sampled_from([0, 1, 70, 2**21, 2**40, FAR]) | st.integers(0, FAR)


@given(batches(), st.integers(-1, 300) | st.just(FAR), LONG | st.integers(-70, 70), SPAN, SPAN)
@settings(max_examples=examples(1000))
def test_both_inspect_alike(
    batch: bytes, most_bytes: int, now_ms: int, before_ms: int, after_ms: int
) -> None:
    seen = _python.inspect(batch, most_bytes, now_ms, before_ms, after_ms)
    if seen is not None and _native.checks_crc() and not crc_matches(memoryview(batch), 0, len(batch)):
        seen = None
    assert _native.inspect(exact(batch), most_bytes, now_ms, before_ms, after_ms) == seen


@given(WHOLE.filter(bool), LONG)
def test_a_good_batch_is_seen_at_one_look(body: bytes, now_ms: int) -> None:
    count, *_, newest, oldest, keyless = _native.scan(body, 0, 5)
    batch = sealed(
        HEADER.pack(0, 49 + len(body), 7, 2, 0, 0x40, count - 1, 5, newest, 2**40, 3, 9, count) + body
    )
    fields = HEADER.unpack_from(batch)
    late, early = max(newest - now_ms, 0), max(now_ms - oldest, 0)
    assume(max(late, early) <= FAR)
    for inspect in (_native.inspect, _python.inspect):
        assert inspect(batch, len(batch), now_ms, early, late) == (fields, keyless)
        assert inspect(batch, len(batch) - 1, now_ms, early, late) is None
        assert not late or inspect(batch, len(batch), now_ms, early, late - 1) is None
        assert not early or inspect(batch, len(batch), now_ms, early - 1, late) is None


@given(BYTES, st.integers(0, 5), st.integers(-1, 5), LONG, LONG)
@settings(max_examples=examples(500))
def test_both_read_alike(
    body: bytes, position: int, limit: int, base_offset: int, base_timestamp: int
) -> None:
    arguments = body, min(position, len(body)), limit, base_offset, base_timestamp
    assert _native.read(exact(body), *arguments[1:]) == _python.read(*arguments)


@given(BYTES)
def test_what_is_checked_can_be_read(body: bytes) -> None:
    count, end, fault, *_ = _native.scan(body, 0, 0)
    records, stopped, found = _native.read(body, 0, len(body) + 1, 0, 0)
    if fault == _python.Fault.OFFSET_DELTA:
        assert stopped > end or found
    else:
        assert (count, end, fault) == (len(records), stopped, found)


@given(RECORDS.filter(bool), st.sampled_from(Codec), st.data())
@settings(deadline=None)
def test_pieces_do_not_matter(records: list[Record], codec: Codec, draw: st.DataObject) -> None:
    batch = memoryview(build_batch(records, codec=codec))
    times = [record.timestamp for record in records]
    keyless = sum(record.key is None for record in records)
    oldest = min((time for time in times if time != -1), default=_python.NEVER)
    header = read_header(batch)
    assert scanning.check_records(header, batch[61:], 1 << 20) == (max([-1, *times]), oldest, keyless)
    body = bytes(encode_records(records, header.base_timestamp))
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    pieces = [body[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    read = scanning.read_records(pieces, 0, header.base_timestamp)
    assert [Record(0, *fields[1:]) for fields in read] == records
