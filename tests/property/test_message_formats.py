"""Records through old formats and back: what those have survives, in every codec, wherever it is cut."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.records.batch import build_batch, crc_matches, read_records
from kcompat.records.compression import Codec
from kcompat.records.down_convert import down_convert
from kcompat.records.errors import RecordsDamaged
from kcompat.records.legacy_lz4 import with_old_checksum, with_right_checksum
from kcompat.records.message_set import LEGACY_CODECS, read_messages
from kcompat.records.record import Record
from kcompat.records.up_convert import accept_old
from kcompat.records.validate import BatchRefusal
from support.default_settings import log_settings

NULLABLE = st.none() | st.binary(max_size=200)
RECORDS = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp=st.integers(-1, 2**45),
        key=NULLABLE,
        value=NULLABLE,
        headers=st.lists(st.tuples(st.text(max_size=20), NULLABLE), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=30,
)
CODECS = st.sampled_from(LEGACY_CODECS)
MAGICS = st.sampled_from((0, 1))


def old_form(batch: bytearray, magic: int, first_offset: int = 0) -> bytes:
    return b"".join(down_convert(memoryview(batch), magic, first_offset))


@given(RECORDS, CODECS, MAGICS, st.integers(0, 2**62))
@settings(deadline=None)
def test_down_and_up_again(records: list[Record], codec: Codec, magic: int, base: int) -> None:
    data = old_form(build_batch(records, codec=codec, base_offset=base), magic)
    outcome = accept_old(memoryview(data), log_settings(), None, 0)
    assert isinstance(outcome, tuple)
    assert outcome[1].codec == codec
    assert crc_matches(outcome[0], 0, len(outcome[0]))
    assert list(read_records(outcome[0])) == [
        Record(at, r.timestamp if magic else -1, r.key, r.value) for at, r in enumerate(records)
    ]


@given(RECORDS, CODECS, MAGICS, st.integers(0, 2**40), st.integers(-5, 35))
@settings(deadline=None)
def test_offsets_and_the_offset_asked_for(
    records: list[Record], codec: Codec, magic: int, base: int, start: int
) -> None:
    data = old_form(build_batch(records, codec=codec, base_offset=base), magic, base + start)
    wanted = range(base + max(start, 0) if codec == Codec.NONE else base, base + len(records))
    assert [message.offset for message in read_messages(data)] == list(wanted)


@given(RECORDS, CODECS, MAGICS, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_damage_is_refused_and_never_more(
    records: list[Record], codec: Codec, magic: int, random: object
) -> None:
    """Whatever bytes come, the answer is a refusal, nothing, or a batch that holds together."""
    data = bytearray(old_form(build_batch(records, codec=codec), magic))
    for _ in range(5):
        at = random.randrange(len(data))  # type: ignore[attr-defined]
        data[at] = random.randrange(256)  # type: ignore[attr-defined]
        outcome = accept_old(memoryview(data), log_settings(), None, 0)
        if outcome is not None and not isinstance(outcome, BatchRefusal):
            assert len(list(read_records(outcome[0]))) == outcome[1].record_count


@given(st.binary(max_size=300))
def test_garbage_is_refused(data: bytes) -> None:
    outcome = accept_old(memoryview(bytearray(data)), log_settings(), None, 0)
    assert outcome is None or isinstance(outcome, BatchRefusal)


@given(st.binary(max_size=30))
def test_the_checksum_is_one_byte(frame: bytes) -> None:
    try:
        changed = with_old_checksum(frame)
    except RecordsDamaged:
        return
    assert sum(a != b for a, b in zip(changed, frame, strict=True)) <= 1
    assert with_right_checksum(changed) == with_right_checksum(frame)
