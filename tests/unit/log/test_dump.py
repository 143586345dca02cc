"""`kcompat log dump` on files whose bytes are known."""

from __future__ import annotations

import io
import json
import struct
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.cli.main import main
from kcompat.log.config import LogConfig
from kcompat.log.dump.rows import DAMAGE, Row, as_json, as_text, damage
from kcompat.log.dump.segment import Depth
from kcompat.log.dump.tree import Dumper, files_in
from kcompat.log.loader import create_log
from kcompat.log.producers import AppendOrigin
from kcompat.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kcompat.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kcompat.protocol.messages.transaction_log import TransactionLogKey, TransactionLogValue
from kcompat.records.batch import build_batch, read_header, seal
from kcompat.records.compression import Codec
from kcompat.records.control import ControlType, EndTransactionMarker, build_marker
from kcompat.records.message_set import encode_message
from kcompat.records.record import Record
from kcompat.records.wrapper import encode_wrapper

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.protocol import schema

VERIFY = Depth(verify=True)
DEEP = Depth(deep=True)


def rows_of(path: Path, depth: Depth = VERIFY, topic: str | None = None) -> list[Row]:
    dumper = Dumper(depth, topic)
    return [row for file in files_in([str(path)]) for row in dumper.rows(file)]


def damage_in(path: Path, depth: Depth = VERIFY) -> list[tuple[int, str]]:
    return [(row.at, row.fields["message"]) for row in rows_of(path, depth) if row.kind == DAMAGE]


def batch_at(offset: int, *values: bytes, epoch: int = 0, **options: Any) -> bytes:
    records = [Record(0, 1000 + offset, b"k", value) for value in values or (b"v",)]
    return bytes(build_batch(records, base_offset=offset, leader_epoch=epoch, **options))


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Three segments, a producer, two transactions of which one was aborted."""
    directory = tmp_path / "t-0"
    config = LogConfig(segment_bytes=2800, index_interval_bytes=200)
    log = create_log(directory, "t", 0, config, topic_id=bytes(range(16)), now_ms=0)
    for number in range(60):
        records = [Record(0, 1000 + number, b"k", b"v" * 50)]
        batch = memoryview(
            build_batch(
                records,
                producer_id=7,
                producer_epoch=0,
                base_sequence=number,
                transactional=number % 30 > 20,
                codec=Codec(number % 5),
            )
        )
        log.append_as_leader(batch, read_header(batch), number // 20, 0)
        if number % 30 == 29:
            marker = EndTransactionMarker(ControlType(number // 30), 2)
            batch = memoryview(
                build_marker(marker, producer_id=7, producer_epoch=0, timestamp=1000 + number, leader_epoch=0)
            )
            log.append_as_leader(batch, read_header(batch), number // 20, 0, AppendOrigin.COORDINATOR)
    log.close()
    assert len(log.local.segments.base_offsets) == 3
    return directory


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


def test_an_offset_index(tmp_path: Path) -> None:
    first, second, third = batch_at(100), batch_at(101, b"a", b"b"), batch_at(103)
    (tmp_path / "00000000000000000100.log").write_bytes(first + second + third)
    path = tmp_path / "00000000000000000100.index"
    at_second, at_third = len(first), len(first) + len(second)
    path.write_bytes(struct.pack(">iiii", 2, at_second, 3, at_third) + bytes(80))
    rows = rows_of(path)
    assert [(row.kind, row.at, row.fields) for row in rows] == [
        ("index", 0, {"offset": 102, "position": at_second}),
        ("index", 8, {"offset": 103, "position": at_third}),
    ]
    path.write_bytes(struct.pack(">iiii", 1, at_second, 3, at_third - 1) + b"\1\2")
    assert damage_in(path) == [
        (0, f"the batch at position {at_second} of the log ends at offset 102, not 101"),
        (8, f"no batch begins at position {at_third - 1} of the log"),
        (16, "the last 2 bytes are no whole entry"),
    ]
    path.write_bytes(struct.pack(">ii", 3, at_second))  # both batches in one append
    assert damage_in(path) == []
    path.write_bytes(struct.pack(">ii", 4, at_second))
    assert damage_in(path) == [(0, "no batch of the log ends at offset 104")]
    path.write_bytes(struct.pack(">iiii", 3, at_third, 2, at_second))
    assert damage_in(path) == [(8, "the entry does not lie above the one before it")]
    assert damage_in(path, Depth()) == [(8, "the entry does not lie above the one before it")]
    (tmp_path / "00000000000000000100.log").write_bytes(first + second + batch_at(105))
    path.write_bytes(struct.pack(">ii", 4, at_second))
    assert damage_in(path) == [(0, "no batch of the log ends at offset 104")]


def test_a_time_index(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000100.log").write_bytes(batch_at(100) + batch_at(101) + batch_at(102))
    path = tmp_path / "00000000000000000100.timeindex"
    path.write_bytes(struct.pack(">qiqi", 1100, 0, 1102, 2) + bytes(120))
    assert [(row.kind, row.at, row.fields) for row in rows_of(path)] == [
        ("index", 0, {"timestamp": 1100, "offset": 100}),
        ("index", 12, {"timestamp": 1102, "offset": 102}),
    ]
    path.write_bytes(struct.pack(">qiqiqi", 1100, 1, 1102, 3, 1101, 4))
    assert damage_in(path) == [
        (0, "the largest timestamp up to offset 101 is 1101, not 1100"),
        (12, "the log ends before offset 103"),
        (24, "the entry does not lie above the one before it"),
    ]


def test_one_entry_of_zeros_is_an_entry_and_many_are_none(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.timeindex"
    path.write_bytes(bytes(12))
    assert [row.fields for row in rows_of(path)] == [{"timestamp": 0, "offset": 0}]
    path.write_bytes(bytes(12 * 20_000))
    assert rows_of(path) == []


def test_a_transaction_index_that_names_no_marker(partition: Path) -> None:
    path = next(partition.glob("*.txnindex"))
    path.write_bytes(struct.pack(">hqqqq", 0, 7, 21, 29, 31) + struct.pack(">hqqqq", 1, 7, 30, 40, 41))
    assert damage_in(path) == [
        (0, "no control batch of producer 7 at offset 29"),
        (34, "version 1 is not known"),
    ]


@pytest.mark.leaves_damage("a damaged snapshot is shown")
def test_a_producer_snapshot(partition: Path) -> None:
    path = partition / "00000000000000000062.snapshot"
    assert [row.fields for row in rows_of(path)] == [
        {
            "producerId": 7,
            "producerEpoch": 0,
            "coordinatorEpoch": 2,
            "currentTxnFirstOffset": -1,
            "lastTimestamp": 1059,
            "firstSequence": 59,
            "lastSequence": 59,
            "lastOffset": 60,
            "offsetDelta": 0,
        }
    ]
    older = partition / "00000000000000000060.snapshot"
    older.write_bytes(path.read_bytes())
    assert damage_in(older) == [(0, "producer 7 wrote offset 60, above the snapshot")]
    older.write_bytes(b"\0\1" + bytes(8))
    assert damage_in(older) == [(0, "the CRC is wrong")]


def test_checkpoints_and_identities(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_bytes(b"version=0\nbroker.id=3\ncluster.id=abc\n")
    (tmp_path / "recovery-point-offset-checkpoint").write_bytes(b"0\n2\na 0 5\nb-c 1 7\n")
    (tmp_path / "log-start-offset-checkpoint").write_bytes(b"0\n2\na 0 5\n")
    (tmp_path / ".kafka_cleanshutdown").write_bytes(b'{"version":0,"brokerEpoch":12}')
    (tmp_path / "unknown").write_bytes(b"?")
    assert [(row.kind, row.fields) for row in rows_of(tmp_path)] == [
        ("clean", {"brokerEpoch": 12}),
        ("damage", {"message": "1 entries where 2 are announced"}),
        ("meta", {"broker.id": "3", "cluster.id": "abc", "version": "0"}),
        ("offset", {"topic": "a", "partition": 0, "offset": 5}),
        ("offset", {"topic": "b-c", "partition": 1, "offset": 7}),
    ]


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


def joined(number: int, message: schema.Message, version: int = 0) -> bytes:
    return struct.pack(">h", number) + b"".join(message.encode(version))


def decoded(directory: Path, key: bytes, value: bytes | None) -> tuple[Any, Any]:
    directory.mkdir()
    batch = build_batch([Record(0, 1, key, value)])
    (directory / "00000000000000000000.log").write_bytes(batch)
    fields = rows_of(directory, DEEP)[-1].fields
    return fields["key"], fields["value"]


def test_committed_offsets(tmp_path: Path) -> None:
    key = joined(1, OffsetCommitKey("g", "t", 3))
    value = joined(3, OffsetCommitValue(offset=42, leader_epoch=7, metadata="m", commit_timestamp=5), 3)
    assert decoded(tmp_path / "__consumer_offsets-0", key, value) == (
        {"type": "OffsetCommit", "group": "g", "topic": "t", "partition": 3},
        {
            "version": 3,
            "offset": 42,
            "leaderEpoch": 7,
            "metadata": "m",
            "commitTimestamp": 5,
            "expireTimestamp": -1,
            "topicId": "AAAAAAAAAAAAAAAAAAAAAA",
        },
    )
    assert decoded(tmp_path / "__consumer_offsets-1", key, None)[1] is None
    assert decoded(tmp_path / "__consumer_offsets-2", b"\0\x63x", b"?") == ("\0cx", "?")
    assert decoded(tmp_path / "__consumer_offsets-3", b"\0", b"\0") == ("\0", "\0")
    assert decoded(tmp_path / "t-0", key, None)[0] == key.decode()


def test_groups_with_what_their_members_say(tmp_path: Path) -> None:
    member = GroupMetadataValue.MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="/h",
        rebalance_timeout=1,
        session_timeout=2,
        subscription=joined(1, ConsumerProtocolSubscription(topics=["t"]), 1),
        assignment=joined(
            0,
            ConsumerProtocolAssignment(
                assigned_partitions=[ConsumerProtocolAssignment.TopicPartition("t", [0, 1])]
            ),
        ),
    )
    value = GroupMetadataValue(
        protocol_type="consumer", generation=4, protocol="range", leader="m", members=[member]
    )
    key, shown = decoded(
        tmp_path / "__consumer_offsets-0", joined(2, GroupMetadataKey("g")), joined(3, value, 3)
    )
    assert key == {"type": "GroupMetadata", "group": "g"}
    assert shown["generation"] == 4
    assert shown["members"][0]["subscription"]["topics"] == ["t"]
    assert shown["members"][0]["assignment"]["assignedPartitions"] == [{"topic": "t", "partitions": [0, 1]}]


def test_transactional_ids(tmp_path: Path) -> None:
    key, value = decoded(
        tmp_path / "__transaction_state-0",
        joined(0, TransactionLogKey("tx")),
        joined(0, TransactionLogValue(producer_id=5, producer_epoch=2, transaction_status=4)),
    )
    assert key == {"type": "TransactionLog", "transactionalId": "tx"}
    assert (value["producerId"], value["producerEpoch"], value["transactionStatus"]) == (5, 2, 4)


def test_lines() -> None:
    row = Row("record", 61, {"offset": 5, "key": None, "value": "\x1b[31mred\nü\\", "headers": [["h", "x"]]})
    assert as_json("a/b", row) == (
        '{"file":"a/b","kind":"record","at":61,"offset":5,"key":null,'
        '"value":"\\u001b[31mred\\nü\\\\","headers":[["h","x"]]}'
    )
    assert as_text("a/b", row) == (
        '        61  record  offset: 5 key: null value: \\x1b[31mred\\nü\\\\ headers: [["h","x"]]'
    )
    assert as_text("a/b", damage(7, "torn")) == "         7  DAMAGE  a/b: torn"


@pytest.mark.leaves_damage("a torn tail is shown")
def test_the_command(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", "--verify", "--quiet", str(partition)]) == 0
    assert capsys.readouterr().out == "15 files, 0 faults\n"
    log = next(partition.glob("*.log"))
    size = log.stat().st_size
    with log.open("ab") as file:
        file.write(b"\1" * 9)
    assert main(["log", "dump", "--quiet", "--json", str(partition)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {
        "file": str(log),
        "kind": "damage",
        "at": size,
        "message": "torn tail: the last 9 bytes are no whole batch",
    }
    assert main(["log", "dump", str(partition / "missing")]) == 2
    assert (
        capsys.readouterr().err == f"kcompat: {partition}/missing cannot be read: No such file or directory\n"
    )
    unknown = partition / "x.txt"
    unknown.touch()
    assert main(["log", "dump", str(unknown)]) == 2
    assert capsys.readouterr().err == f"kcompat: {unknown} is no file of a log, by its name\n"


@pytest.mark.leaves_damage("an index is emptied")
def test_a_file_that_a_broker_removes_meanwhile_is_passed_over(partition: Path) -> None:
    class WhileItPrints(io.StringIO):
        def write(self, text: str) -> int:
            gone.unlink(missing_ok=True)
            return super().write(text)

    gone = next(partition.glob("*.index"))
    with redirect_stdout(WhileItPrints()) as said:
        assert main(["log", "dump", str(partition)]) == 0
    assert said.getvalue().endswith("\n14 files, 0 faults\n")
    gone.touch()
    with redirect_stdout(WhileItPrints()):
        assert main(["log", "dump", str(gone)]) == 2, "it was asked for by its name"
