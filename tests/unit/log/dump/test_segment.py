"""Dumps of segments: their batches, and damage in them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from kcompat.log.dump.rows import DAMAGE
from kcompat.log.dump.segment import Depth
from kcompat.records.batch import seal
from kcompat.records.compression import Codec
from kcompat.records.conversion import encode_wrapper
from kcompat.records.message_set import encode_message
from support.log_dumps import DEEP, batch_at, damage_in, rows_of

if TYPE_CHECKING:
    from pathlib import Path


def test_nothing_is_wrong_in_a_sound_directory(partition: Path) -> None:
    rows = rows_of(partition, Depth(deep=True, verify=True))
    assert [row for row in rows if row.kind == DAMAGE] == []
    assert [row.fields["offset"] for row in rows if row.kind == "record"] == list(range(62))
    assert [row.fields for row in rows if row.kind == "abort"] == [
        {"version": 0, "producerId": 7, "firstOffset": 21, "lastOffset": 30, "lastStableOffset": 31}
    ]
    assert [row.fields for row in rows if row.kind == "epoch"] == [
        {"epoch": 0, "startOffset": 0},
        {"epoch": 1, "startOffset": 20},
        {"epoch": 2, "startOffset": 41},
    ]
    assert [row.fields for row in rows if row.kind == "topic"] == [{"topicId": "AAECAwQFBgcICQoLDA0ODw"}]
    assert rows[-1].kind == "topic"


def test_a_batch_and_its_records(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000005.log"
    path.write_bytes(
        batch_at(5, b"one", b"\xfftwo", producer_id=9, producer_epoch=1, base_sequence=3, epoch=4)
    )
    batch, first, second = rows_of(path, DEEP)
    assert batch.fields == {
        "baseOffset": 5,
        "lastOffset": 6,
        "count": 2,
        "baseSequence": 3,
        "lastSequence": 4,
        "producerId": 9,
        "producerEpoch": 1,
        "partitionLeaderEpoch": 4,
        "isTransactional": False,
        "isControl": False,
        "timestampType": "CreateTime",
        "maxTimestamp": 1005,
        "size": len(path.read_bytes()),
        "magic": 2,
        "compresscodec": "none",
        "crc": batch.fields["crc"],
        "isvalid": True,
    }
    assert first.fields == {"offset": 5, "timestamp": 1005, "sequence": 3, "key": "k", "value": "one"}
    assert second.fields["value"] == {"base64": "/3R3bw=="}


def test_markers_say_how_the_transaction_ended(partition: Path) -> None:
    ends = [row.fields for row in rows_of(partition, DEEP) if "endTxnMarker" in row.fields]
    assert [(end["offset"], end["endTxnMarker"], end["coordinatorEpoch"]) for end in ends] == [
        (30, "ABORT", 2),
        (61, "COMMIT", 2),
    ]


def test_a_torn_tail_is_found_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    first, second = batch_at(0), batch_at(1)
    for length in range(1, len(second)):
        path.write_bytes(first + second[:length])
        ((at, message),) = damage_in(path, Depth())
        assert at == len(first)
        assert message.startswith(("torn tail", "zeros where a batch should begin"))


def test_a_flipped_bit_is_found_in_every_byte_that_counts(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    first, second, third = batch_at(0, epoch=3), batch_at(1, epoch=3), batch_at(2, epoch=3)
    (tmp_path / "leader-epoch-checkpoint").write_bytes(b"0\n1\n3 0\n")
    for byte in range(len(second)):
        flipped = second[:byte] + bytes([second[byte] ^ 1]) + second[byte + 1 :]
        path.write_bytes(first + flipped + third)
        found = damage_in(path)
        assert found, f"byte {byte}"
        assert found[0][0] >= len(first), f"byte {byte}"


def claiming(length: int) -> bytes:
    return struct.pack(">qiib", 0, length, 0, 2) + bytes(64)


@pytest.mark.parametrize(
    ("content", "at", "said"),
    [
        (b"\0" * 100, 0, "zeros where a batch should begin, up to 100 bytes: unwritten space"),
        (b"\1" * 100, 0, "torn tail: a batch of 16843021 bytes, of which 100 are there"),
        (b"\3" * 100, 0, "a batch of unknown magic 3; what follows cannot be read"),
        (claiming(20), 0, "a batch that claims to have 32 bytes; what follows cannot be read"),
        (claiming(-20), 0, "a batch that claims to have -8 bytes; what follows cannot be read"),
        (b"\1" * 7, 0, "torn tail: the last 7 bytes are no whole batch"),
    ],
)  # fmt: skip
def test_what_is_no_batch(tmp_path: Path, content: bytes, at: int, said: str) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(content)
    assert damage_in(path) == [(at, said)]


def test_offsets_and_epochs_must_not_go_back(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000010.log"
    batches = [batch_at(10, b"a", b"b", epoch=5), batch_at(11, epoch=5), batch_at(13, epoch=4)]
    path.write_bytes(b"".join(batches))
    second, third = len(batches[0]), len(batches[0]) + len(batches[1])
    assert damage_in(path, Depth()) == [
        (second, "base offset 11 where 12 is the next free one"),
        (third, "leader epoch 4 follows 5"),
    ]
    path.write_bytes(batch_at(9))
    assert damage_in(path, Depth()) == [(0, "base offset 9 where 10 is the next free one")]
    path.write_bytes(batch_at(10 + 2**31))
    assert damage_in(path, Depth()) == [(0, "offset 2147483658 is too far from the base of its segment")]


def test_segments_of_a_partition_must_not_overlap(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(batch_at(0, b"a", b"b", b"c", epoch=2))
    (tmp_path / "00000000000000000002.log").write_bytes(batch_at(3, epoch=3))
    (tmp_path / "leader-epoch-checkpoint").write_bytes(b"0\n1\n2 0\n")
    assert damage_in(tmp_path) == [
        (0, "the segment begins at offset 2, but the one before it ends at 2"),
        (0, "leader epoch 3 is not in the leader-epoch-checkpoint"),
    ]


def test_records_that_contradict_their_header(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    batch = bytearray(batch_at(0, b"a", b"b"))
    struct.pack_into(">i", batch, 57, 3)
    seal(batch, 0)
    path.write_bytes(batch)
    assert damage_in(path) == [
        (0, "the records of the batch cannot be read: 2 records where the header counts 3")
    ]
    assert damage_in(path, Depth()) == []


def test_messages_of_the_old_formats(tmp_path: Path) -> None:
    first = encode_message(4, 0, 0, -1, b"k", b"zero")
    inner = b"".join(encode_message(n, 1, 0, 1000 + n, None, b"%d" % n) for n in range(3))
    wrapper = encode_wrapper(inner, Codec.GZIP, 1, last_offset=7, attributes=0, timestamp=1002)
    path = tmp_path / "00000000000000000004.log"
    path.write_bytes(first + wrapper)
    rows = rows_of(path, Depth(deep=True, verify=True))
    assert [row.kind for row in rows] == ["batch", "record", "batch", "record", "record", "record"]
    assert rows[0].fields == {
        "offset": 4,
        "timestampType": "CreateTime",
        "maxTimestamp": -1,
        "size": len(first),
        "magic": 0,
        "compresscodec": "none",
        "crc": rows[0].fields["crc"],
        "isvalid": True,
    }
    assert (rows[2].at, rows[2].fields["offset"], rows[2].fields["compresscodec"]) == (len(first), 7, "gzip")
    assert [row.fields for row in rows if row.kind == "record"] == [
        {"offset": 4, "timestamp": -1, "key": "k", "value": "zero"},
        {"offset": 5, "timestamp": 1000, "key": None, "value": "0"},
        {"offset": 6, "timestamp": 1001, "key": None, "value": "1"},
        {"offset": 7, "timestamp": 1002, "key": None, "value": "2"},
    ]
    path.write_bytes(first + wrapper[:-1] + b"\1")
    assert [at for at, _ in damage_in(path)] == [len(first)]
