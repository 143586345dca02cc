"""Histories of leader epochs, and where exactly a follower cuts its log (kafka-rules 1.7, KIP-101, KIP-279).

A log is written as the epochs of its records, one digit for each offset. Kept is how many records the
follower has left when it fetches from the leader for the first time without being told to cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import Struct

from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.replication.following.fetcher import Fetcher
from support.default_settings import fetcher_settings
from support.replica_logs import MemoryLeader, MemoryLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.protocol.message import Message


class History(Struct, frozen=True):
    """The logs of a leader and of a follower when the leader's epoch begins."""

    name: str
    leader: str
    follower: str
    kept: int
    high_watermark: int = 0
    """High watermark of the follower."""
    begun: tuple[int, ...] = ()
    """Epochs in which the follower led without a record being written."""
    leader_begun: tuple[int, ...] = ()


HISTORIES = [
    # one epoch
    History("both are empty", "", "", 0),
    History("the follower is new", "000", "", 0),
    History("they are the same", "000", "000", 3),
    History("the follower is behind", "0000", "00", 2),
    History("the leader lost its tail in an unclean election", "00", "0000", 2),
    History("the leader lost everything", "", "000", 0),
    # the follower led, and wrote what nobody else has
    History("one record of its own", "00", "001", 2),
    History("many records of its own", "00", "0011111", 2),
    History("records of two epochs of its own", "00", "001122", 2),
    History("everything is its own", "", "111", 0),
    History("its own where the leader has another epoch", "002", "001", 2),
    History("its own is longer than the leader's", "002", "0011111", 2),
    History("its own is shorter than the leader's", "0022222", "001", 2),
    History("from the first record on", "22", "11", 0),
    History("its own over three epochs of the leader's", "00345", "00111", 2),
    # epochs that both have, but not as far
    History("the leader went on in a later epoch", "0001", "000", 3),
    History("the leader ended the epoch earlier", "001", "000", 2),
    History("the leader ended the epoch earlier and missed one", "00122", "00111", 3),
    History("each ended a common epoch with one of its own", "00012", "0003", 3),
    History("the same epochs and lengths", "001122", "001122", 6),
    History("behind inside a later epoch", "001122", "0011", 4),
    History("behind at the start of a later epoch", "001122", "001", 3),
    History("ahead in the last epoch only", "001122", "00112222", 6),
    # KIP-279: epochs of which the other side knows nothing, in turns
    History("each has an epoch of its own", "0002", "0001", 3),
    History("epochs in turns", "00224", "00113", 2),
    History("epochs in turns, the follower's are longer", "00224", "0011333333", 2),
    History("epochs in turns, the leader's are longer", "0022444444", "00113", 2),
    History("a common epoch below those in turns", "0113", "0112", 3),
    History("it wrote in an epoch that the leader missed", "0222", "01", 1),
    History("three rounds of questions", "0135", "0246", 1),
    History("four rounds of questions", "01357", "02468", 1),
    History("a common epoch of different lengths between", "001133", "0012222", 3),
    # epochs without records
    History("the follower led and nothing was written", "00", "00", 2, begun=(1,)),
    History("the follower led twice and nothing was written", "00", "00", 2, begun=(1, 2)),
    History("it led and lost its tail", "0022", "00", 2, begun=(1,)),
    History("the leader led before without a record", "00", "0011", 2, leader_begun=(2,)),
    History("both led without a record", "00", "00", 2, begun=(1,), leader_begun=(2,)),
    History("an epoch in which only the follower wrote", "00", "0013", 2, leader_begun=(2,)),
    History("begun above records of its own", "00", "0011", 2, begun=(3,)),
    History("the high watermark says nothing where epochs do", "0012", "0011", 3, high_watermark=1),
]
NOW = 1000


def test_there_are_forty() -> None:
    assert len(HISTORIES) == 40
    assert len({history.name for history in HISTORIES}) == 40


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.name)
def test_such_a_history_can_be(history: History) -> None:
    """An epoch has one leader: it begins at one offset, and whoever has any of it has what came before."""
    for epoch in set(history.leader) & set(history.follower):
        start = history.leader.index(epoch)
        assert history.leader[:start] == history.follower[: history.follower.index(epoch)]


def conversation(leader: MemoryLeader, fetcher: Fetcher) -> Iterator[tuple[Message, Message]]:
    """Requests of the follower, and the leader's answers."""
    for _ in range(20):
        request = fetcher.next(NOW)
        assert request is not None, "it went silent"
        answer = leader.answer(request)
        yield request, answer
        fetcher.answered(answer, NOW)
        fetcher.check_invariants()
    raise AssertionError("they talk for ever")


def follow(history: History, *, truncates_on_fetch: bool) -> tuple[MemoryLog, MemoryLog, int]:
    """The logs at the end, and how much the follower had kept of its own."""
    log = MemoryLog(history.follower, high_watermark=history.high_watermark)
    for epoch in history.begun:
        log.cache.assign(epoch, log.log_end_offset)
    led = MemoryLog(history.leader)
    for epoch in history.leader_begun:
        led.cache.assign(epoch, led.log_end_offset)
    leader = MemoryLeader(9, led)
    fetcher = Fetcher(2, lambda: 5, fetcher_settings(truncates_on_fetch=truncates_on_fetch))
    fetcher.follow(log, 9)
    for request, answer in conversation(leader, fetcher):
        if isinstance(request, FetchRequest):
            assert isinstance(answer, FetchResponse)
            row = answer.responses[0].partitions[0]
            if row.diverging_epoch.epoch < 0 and not row.error_code:
                kept = log.log_end_offset
                fetcher.answered(answer, NOW)
                return led, log, kept
    raise AssertionError


@pytest.mark.parametrize("truncates_on_fetch", [True, False], ids=["in Fetch", "by OffsetForLeaderEpoch"])
@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.name)
def test_a_follower_cuts_exactly_where_the_logs_part(history: History, truncates_on_fetch: bool) -> None:
    led, log, kept = follow(history, truncates_on_fetch=truncates_on_fetch)
    assert kept == history.kept
    assert log.written == led.written
    assert all(cut >= history.kept for cut in log.cuts)


def test_a_log_without_epochs_is_cut_at_its_high_watermark() -> None:
    """The log has messages of old formats only, so its high watermark is all that is known."""
    log = MemoryLog("0000", high_watermark=3)
    log.cache.clear()
    fetcher = Fetcher(2, lambda: 5, fetcher_settings())
    fetcher.follow(log, 9)
    assert (log.log_end_offset, log.cuts) == (3, [3])
    request = fetcher.next(NOW)
    assert isinstance(request, FetchRequest)
    assert request.topics[0].partitions[0].last_fetched_epoch == -1
