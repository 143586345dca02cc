"""What property tests make records of (hypothesis)."""

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


def fields(record: Record) -> tuple[object, ...]:
    """All of a record but its offset, to compare it with what another library has read."""
    return record.timestamp, record.key, record.value, list(record.headers)
