"""Hypothesis strategies for records."""

from __future__ import annotations

from hypothesis import strategies as st

from kcompat.records.compression import Codec
from kcompat.records.record import Record

NULLABLE = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=20), NULLABLE), max_size=4).map(tuple)
RECORDS = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp=st.integers(0, 2**45),
        key=NULLABLE,
        value=NULLABLE,
        headers=HEADERS,
    ),
    min_size=1,
    max_size=30,
)
"""Records of one batch; their offsets are those it gives them."""
CODECS = st.sampled_from(Codec)


@st.composite
def edited(draw: st.DrawFn, body: bytes) -> bytes:
    """`body` with a few bytes changed, put in or taken out, and maybe cut."""
    data = bytearray(body)
    byte = st.sampled_from([0, 1, 2, 0x7E, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        kept = draw(st.integers(0, 2))
        data[at : at + kept] = bytes(draw(st.lists(byte, max_size=2)))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


def clipped(whole: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Good bytes without the last few: a reader must stop just before their end."""
    return st.builds(lambda data, missing: data[:-missing], whole, st.sampled_from([1, 1, 2, 3, 9]))


def fields(record: Record) -> tuple[object, ...]:
    """All of a record but its offset, to compare it with what another library has read."""
    return record.timestamp, record.key, record.value, list(record.headers)
