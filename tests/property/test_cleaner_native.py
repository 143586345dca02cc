"""Both implementations of the log cleaner do the same, record by record and file by file."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import pytest
from crc32c import crc32c
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompat.log.cleaner import _python
from kcompat.records.batch import build_batch, read_header
from kcompat.records.compression import Codec
from kcompat.records.layout import HEADER_SIZE
from kcompat.records.record import Record, append_varint, encode_records
from support.fuzzing import exact, examples
from support.record_strategies import edited

if TYPE_CHECKING:
    from collections.abc import Sequence

_native = pytest.importorskip("kcompat.log.cleaner._native", exc_type=ImportError)

at_leisure = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""On a busy machine, and with an extension that checks itself, time says nothing."""
SLOTS = 211
LATEST = 2**63 - 1
LONG = st.sampled_from([0, 1, 5, -1, -5, 2**31, 2**63 - 1, -(2**63)]) | st.integers(-(2**63), 2**63 - 1)
KEY = st.none() | st.sampled_from([b"", b"a", b"b", b"c", b"d"]) | st.binary(max_size=200)
VALUE = st.none() | st.binary(max_size=20) | st.binary(min_size=60, max_size=200)
RECORDS = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp=st.integers(-(2**40), 2**40),
        key=KEY,
        value=VALUE,
        headers=st.lists(st.tuples(st.text(max_size=5), VALUE), max_size=2).map(tuple),
    ),
    max_size=30,
)
WHOLE = st.builds(
    lambda records, base: (bytes(encode_records(records, base)), len(records)),
    RECORDS,
    st.integers(0, 2**40),
)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[bytes, int]:
    """Good records with a few bytes changed, put in or taken out, and maybe cut."""
    whole, count = draw(WHOLE)
    return draw(edited(whole)), count + draw(st.integers(-1, 1))


@st.composite
def framed(draw: st.DrawFn) -> tuple[bytes, int]:
    """Records whose lengths are right and whose insides are anything: the fields are reached."""
    body = bytearray()
    count = draw(st.integers(1, 5))
    for _ in range(count):
        inside = bytearray(1)
        for value in draw(st.lists(st.integers(-3, 20) | LONG, max_size=8)):
            append_varint(inside, value)
        inside += draw(st.binary(max_size=12))
        append_varint(body, len(inside))
        body += inside
    return bytes(body), count


BODIES = WHOLE | mutated() | framed() | st.tuples(st.binary(max_size=100), st.integers(-1, 5))


def table(slots: int = SLOTS) -> array[int]:
    return array("Q", bytes(24 * slots))


def filled(whole: tuple[bytes, int], base_offset: int) -> array[int]:
    numbers = table()
    _python.put(numbers, *whole, base_offset, 0)
    return numbers


@given(st.lists(st.tuples(BODIES, st.integers(0, 2**40), st.integers(0, 2**40)), max_size=4))
@settings(at_leisure, max_examples=examples(400))
def test_both_put_alike(bodies: list[tuple[tuple[bytes, int], int, int]]) -> None:
    ours, theirs = table(), table()
    for (body, count), base_offset, first_offset in bodies:
        arguments = body, count, base_offset, min(first_offset, base_offset + 2)
        added = _native.put(ours, exact(body), *arguments[1:])
        assert added == _python.put(theirs, *arguments)
        if added < 0:
            return  # the cleaning ends here, and what was put does not matter
        assert ours == theirs


@given(WHOLE, BODIES, st.integers(0, 40), st.integers(0, 40), LONG, st.integers(-1, 60), st.booleans())
@settings(at_leisure, max_examples=examples(600))
def test_both_keep_alike(
    known: tuple[bytes, int],
    judged: tuple[bytes, int],
    known_from: int,
    base_offset: int,
    base_timestamp: int,
    latest: int,
    keeps_tombstones: bool,
) -> None:
    numbers = filled(known, known_from)
    arguments = numbers, *judged, base_offset, base_timestamp, latest, keeps_tombstones
    body, *others = arguments[1:]
    assert _native.keep(numbers, exact(body), *others) == _python.keep(*arguments)


@given(BODIES, LONG)
@settings(at_leisure, max_examples=examples(400))
def test_both_rebase_alike(body: tuple[bytes, int], shift: int) -> None:
    assert _native.rebase(exact(body[0]), body[1], shift) == _python.rebase(*body, shift)


@given(WHOLE, st.integers(2, 400))
@at_leisure
def test_both_move_alike(whole: tuple[bytes, int], slots: int) -> None:
    numbers = filled(whole, 0)
    least = sum(1 for at in range(0, len(numbers), 3) if numbers[at]) + 1
    prime = next(number for number in range(max(slots, least), 1000) if all(number % n for n in range(2, 32)))
    ours, theirs = table(prime), table(prime)
    _native.move(numbers, ours)
    _python.move(numbers, theirs)
    assert ours == theirs


BATCH = st.fixed_dictionaries(
    {
        "records": RECORDS.filter(bool),
        "codec": st.sampled_from([Codec.NONE] * 6 + [Codec.LZ4]),
        "producer_id": st.sampled_from([-1, -1, -1, 3]),
        "log_append_time": st.sampled_from([None, None, 5000]),
        "flaw": st.sampled_from(["none"] * 8 + ["transactional", "control", "bit", "horizon", "horizon"]),
    }
)


def make(options: dict[str, Any], base_offset: int) -> bytearray:
    """A batch that may be none, or one that only some hands deal with."""
    flaw = options["flaw"]
    made = build_batch(
        options["records"],
        base_offset=base_offset,
        codec=options["codec"],
        producer_id=options["producer_id"],
        log_append_time=options["log_append_time"],
        transactional=flaw == "transactional",
        control=flaw == "control",
    )
    if flaw == "bit":
        made[len(made) // 2] ^= 4
    if flaw == "horizon":
        made[22] |= 0x40
        made[17:21] = crc32c(made[21:]).to_bytes(4, "big")
    return made


@given(WHOLE, st.lists(BATCH, max_size=6), st.integers(0, 100), st.integers(0, 2**41), st.data())
@settings(at_leisure, max_examples=examples(400))
def test_many_batches_at_once_are_each_by_itself(
    known: tuple[bytes, int],
    given_batches: list[dict[str, Any]],
    latest: int,
    now_ms: int,
    data: st.DataObject,
) -> None:
    batches, base_offset = [], 0
    for options in given_batches:
        batches.append(make(options, base_offset))
        base_offset += len(options["records"])
    chunk = memoryview(b"".join(batches))
    chunk = chunk[: len(chunk) - data.draw(st.sampled_from([0, 0, 1, 70]))] if len(chunk) > 70 else chunk
    numbers = filled(known, data.draw(st.integers(0, 60)))
    upper = data.draw(st.sampled_from([base_offset, base_offset + 1]))
    by_hand = _keep_each(numbers, chunk, batches, latest, now_ms, upper)
    assert _native.keep_plain(numbers, crc32c, exact(chunk), 0, latest, now_ms, upper) == by_hand
    room, first_offset = data.draw(st.integers(0, 100)), data.draw(st.integers(0, 40))
    ours, theirs = array("Q", numbers), array("Q", numbers)
    put = _native.put_plain(ours, crc32c, exact(chunk), 0, room, first_offset)
    assert put == _put_each(theirs, chunk, batches, room, first_offset)
    assert ours == theirs


def _plain(chunk: memoryview, batches: Sequence[bytearray]) -> list[tuple[Any, bytes]]:
    """Headers and bodies of the batches up to the first that is not plain."""
    found: list[tuple[Any, bytes]] = []
    end = 0
    for batch in batches:
        end += len(batch)
        header = read_header(batch)
        if end > len(chunk) or header.attributes & 0x37 or crc32c(batch[21:]) != header.crc:
            break
        found.append((header, bytes(batch)))
    return found


def _put_each(
    numbers: array[int], chunk: memoryview, batches: Sequence[bytearray], room: int, first_offset: int
) -> tuple[int, int, int]:
    position = added = 0
    last_offset = -1
    for header, batch in _plain(chunk, batches):
        if header.last_offset >= first_offset:
            if header.record_count > room - added:
                break
            body = batch[HEADER_SIZE:]
            added += _python.put(numbers, body, header.record_count, header.base_offset, first_offset)
            last_offset = header.last_offset
        position += len(batch)
    return position, added, last_offset


def _keep_each(
    numbers: array[int],
    chunk: memoryview,
    batches: Sequence[bytearray],
    latest: int,
    now_ms: int,
    upper: int,
) -> tuple[int, int, int, bytes, list[tuple[int, int, int]]]:
    position = read = kept = 0
    out, notes = b"", []
    for header, batch in _plain(chunk, batches):
        keeps_tombstones = not header.has_delete_horizon or now_ms < header.base_timestamp
        found = _python.keep(
            numbers,
            batch[HEADER_SIZE:],
            header.record_count,
            header.base_offset,
            header.base_timestamp,
            latest,
            keeps_tombstones,
        )
        assert found is not None
        count, newest, tombstones, records = found
        if (count == 0 and (header.producer_id >= 0 or header.next_offset == upper)) or (
            tombstones and not header.has_delete_horizon
        ):
            break
        position, read, kept = position + len(batch), read + header.record_count, kept + count
        if count:
            made = _sealed(batch, header, count, newest, bytes(records))
            out += made
            notes.append((len(made), header.last_offset, read_header(made).max_timestamp))
    return position, read, kept, out, notes


def _sealed(batch: bytes, header: Any, count: int, newest: int, records: bytes) -> bytes:
    if count == header.record_count:
        return batch
    made = bytearray(batch[:HEADER_SIZE] + records)
    made[8:12] = (len(made) - 12).to_bytes(4, "big")
    if not header.uses_log_append_time:
        made[35:43] = newest.to_bytes(8, "big", signed=True)
    made[57:61] = count.to_bytes(4, "big")
    made[17:21] = crc32c(made[21:]).to_bytes(4, "big")
    return bytes(made)
