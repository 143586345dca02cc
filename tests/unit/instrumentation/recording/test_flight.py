"""Flight records: files that are bounded, readable when torn, and no danger for the broker."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, cast

import pytest

from kcompat.errors import UsageError
from kcompat.instrumentation.recording.decoding import MOST_ZEROS, read_response
from kcompat.instrumentation.recording.exchange import Fate, RecordedEvent, RecordedExchange
from kcompat.instrumentation.recording.flight import FlightRecord
from kcompat.instrumentation.recording.flight_file import (
    MAGIC,
    SUFFIX,
    FlightFile,
    flight_files,
    read_entries,
    remove_finished,
)
from kcompat.instrumentation.recording.flight_reader import read_flight
from kcompat.instrumentation.recording.journal import Answered, AskedRequest, Began, Entry, Named
from kcompat.instrumentation.request_head import read_head
from kcompat.net.answers import Answer, Mode, Waiting
from kcompat.promise import Promise
from kcompat.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from support.recorded import answer_of, frame_of
from support.recorded_broker import RecordedBroker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FRAME = frame_of(HeartbeatRequest(group_id="g"), 4)
ANSWER = answer_of(HeartbeatResponse(), 4)


def exchanges(paths: Sequence[Path]) -> list[RecordedExchange]:
    return [each for _, each in read_flight(paths).seen if isinstance(each, RecordedExchange)]


def recorded(directory: Path, requests: int = 3, limit: int = 1 << 20) -> RecordedBroker:
    """A broker that has answered requests."""
    broker = RecordedBroker()
    FlightRecord(broker.hooks, directory, limit)
    peer = broker.open(1000)
    for _ in range(requests):
        broker.ask(peer, FRAME, ANSWER)
    return broker


def test_the_file_has_everything_before_the_broker_stops(tmp_path: Path) -> None:
    broker = recorded(tmp_path / "records")
    found = exchanges([tmp_path / "records"])
    assert [(each.request, each.answer) for each in found] == [(FRAME, tuple(ANSWER))] * 3
    broker.stop()
    broker.ask(broker.open(1001), FRAME, ANSWER)
    assert len(exchanges([tmp_path / "records"])) == 3


def test_only_the_owner_reads_a_file(tmp_path: Path) -> None:
    recorded(tmp_path).stop()
    (path,) = flight_files(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_request_that_was_never_answered_is_there(tmp_path: Path) -> None:
    broker = recorded(tmp_path, requests=0)
    broker.ask(broker.open(1001), FRAME, Waiting(Promise[Answer](), Mode.BLOCKING))
    (exchange,) = exchanges([tmp_path])
    assert (exchange.fate, exchange.port) == (Fate.WAITING, 1001)
    broker.stop()


def test_a_torn_file_is_read_up_to_the_tear(tmp_path: Path) -> None:
    recorded(tmp_path, 1).stop()
    (path,) = flight_files(tmp_path)
    data, whole = path.read_bytes(), list(read_entries(path))
    for end in range(len(MAGIC), len(data)):
        path.write_bytes(data[:end])
        entries = list(read_entries(path))
        assert entries == whole[: len(entries)]
        assert len(entries) < len(whole)
    path.write_bytes(data + os.urandom(50))
    assert list(read_entries(path))[: len(whole)] == whole


def test_the_directory_is_bounded_and_the_oldest_file_goes(tmp_path: Path) -> None:
    limit = 40_000
    broker = recorded(tmp_path, 2000, limit)
    assert sum(path.stat().st_size for path in flight_files(tmp_path)) <= limit
    assert 3 <= len(flight_files(tmp_path)) <= 4
    broker.complain("127.0.0.1", "the last")
    found = read_flight([tmp_path])
    assert len([each for _, each in found.seen if isinstance(each, RecordedExchange)]) > 100
    last = found.seen[-1][1]
    assert isinstance(last, RecordedEvent)
    assert last.what == "complaint"
    broker.stop()


def test_files_of_earlier_runs_count_too(tmp_path: Path) -> None:
    old = tmp_path / f"2020{SUFFIX}"
    old.write_bytes(bytes(900_000))
    os.utime(old, (0, 0))
    other = tmp_path / "not-ours.txt"
    other.write_bytes(bytes(900_000))
    recorded(tmp_path).stop()
    assert not old.exists()
    assert other.exists()


def test_a_file_that_another_broker_writes_stays_until_it_is_finished(tmp_path: Path) -> None:
    limit = 40_000
    idle = recorded(tmp_path, 3, limit)
    (held,) = flight_files(tmp_path)
    os.utime(held, (0, 0))
    busy = recorded(tmp_path, 2000, limit)
    assert sum(path.stat().st_size for path in flight_files(tmp_path)) <= limit
    idle.ask(idle.open(1001), FRAME, ANSWER)
    assert len(exchanges([held])) == 4
    idle.stop()
    peer = busy.open(1002)
    for _ in range(2000):
        busy.ask(peer, FRAME, ANSWER)
    busy.stop()
    assert not held.exists()


def test_links_and_other_files_that_cannot_be_removed_do_not_end_a_record(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / f"0{SUFFIX}").symlink_to("nowhere")
    (tmp_path / f"1{SUFFIX}").mkdir()
    target = tmp_path / "target"
    target.write_bytes(bytes(9000))
    (tmp_path / f"2{SUFFIX}").symlink_to(target)
    recorded(tmp_path, 2000, 40_000).stop()
    assert caplog.text == ""
    assert target.exists()
    (tmp_path / f"2{SUFFIX}").unlink()
    assert len(exchanges([tmp_path])) > 100


def test_a_file_that_another_process_has_removed_counts_as_removed(tmp_path: Path) -> None:
    assert remove_finished(tmp_path / "gone")


def test_requests_of_two_brokers_and_runs_are_kept_apart(tmp_path: Path) -> None:
    for broker_id in (1, 2):
        broker = RecordedBroker(broker_id)
        FlightRecord(broker.hooks, tmp_path)
        broker.ask(broker.open(1000), FRAME, Waiting(Promise[Answer](), Mode.BLOCKING))
        broker.ask(broker.open(1001), FRAME, ANSWER)
        broker.stop()
    found = [(broker_id, each) for broker_id, each in read_flight([tmp_path]).seen]
    fates = [(broker_id, each.fate) for broker_id, each in found if isinstance(each, RecordedExchange)]
    assert sorted(fates) == [(1, 0), (1, 1), (2, 0), (2, 1)]


def test_a_disk_that_fails_ends_the_record_and_not_the_broker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    with caplog.at_level(logging.ERROR):
        broker = recorded(tmp_path / "file", 3)
    broker.stop()
    assert "The flight record in" in caplog.text

    broker = recorded(tmp_path / "full", 1, limit=4000)
    (tmp_path / "full").rename(tmp_path / "gone")
    (tmp_path / "full").touch()
    peer = broker.open(1001)
    for _ in range(100):
        broker.ask(peer, FRAME, ANSWER)
    broker.close(peer, "idle")
    broker.stop()
    assert caplog.text.count("The flight record in") == 2


def test_what_is_no_flight_record_is_refused_in_a_sentence(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("text")
    with pytest.raises(UsageError, match="is no flight record"):
        read_flight([other])
    with pytest.raises(UsageError, match="holds no flight record"):
        read_flight([tmp_path])
    newer = FlightFile(tmp_path / "newer")
    newer.write(Began(99, 0, 0, 0))
    newer.close()
    with pytest.raises(UsageError, match="has format 99"):
        read_flight([tmp_path / "newer"])


@pytest.mark.parametrize(
    "hostile",
    [
        Answered(1, 0, Fate.ANSWERED, [b"\0\0\0\4", 20_000_000_000]),
        Answered(1, 0, Fate.ANSWERED, [b"\0\0\0\4", -5]),
        Answered(1, 0, cast("Fate", 99), []),
        Named({"zz!!": "x"}),
        Named({"\x1b[2J": "x"}),
    ],
)
def test_an_entry_that_no_broker_makes_is_refused_in_a_sentence(tmp_path: Path, hostile: Entry) -> None:
    path = tmp_path / "hostile"
    file = FlightFile(path)
    file.write(Began(1, 0, 1, 1), AskedRequest(0, 1, 1, "User:a", len(FRAME), FRAME), hostile)
    file.close()
    with pytest.raises(UsageError, match="hostile is damaged, leave it out: ") as refused:
        read_flight([path])
    assert str(refused.value).isprintable()


def test_no_more_zeros_are_made_than_an_answer_may_have() -> None:
    head = read_head(FRAME)
    answer = b"".join(ANSWER)
    assert read_response([answer, MOST_ZEROS + 1], head) is None
    assert read_response([answer, 10], head) is not None
