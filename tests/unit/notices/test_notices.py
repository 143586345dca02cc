"""The log of the failures of clients: the first of a kind gets a line, the others are counted."""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING

import pytest

from kcompat.notices.cause import LONGEST, WINDOW_MS, Cause, client
from kcompat.notices.causes import CAUSES
from kcompat.notices.notices import MOST_WINDOWS, OTHERS, Notices
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable

BAD = Cause("kafka.server.KafkaApis", "is bad at {place}")
WORSE = Cause("kafka.log.UnifiedLog", "is worse")
RESTLESS = Cause("kafka.server.KafkaApis", "is restless", after=3, window_ms=60_000)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def tell(clock: VirtualClock) -> Callable[..., None]:
    return Notices(clock).tell


def test_the_first_of_a_kind_gets_a_line_under_the_name_of_its_logger(
    caplog: pytest.LogCaptureFixture, tell: Callable[..., None]
) -> None:
    tell(BAD, "app at 10.0.0.7", place="t-0")
    tell(BAD, "app at 10.0.0.7", place="t-1")
    tell(BAD, "app at 10.0.0.8", place="t-1")
    tell(WORSE, "app at 10.0.0.7")
    assert [(each.name, each.levelno, each.getMessage()) for each in caplog.records] == [
        ("kafka.server.KafkaApis", logging.WARNING, "app at 10.0.0.7: is bad at t-0"),
        ("kafka.server.KafkaApis", logging.WARNING, "app at 10.0.0.8: is bad at t-1"),
        ("kafka.log.UnifiedLog", logging.WARNING, "app at 10.0.0.7: is worse"),
    ]


def test_ten_thousand_of_a_kind_get_two_lines_and_the_number(
    caplog: pytest.LogCaptureFixture, clock: VirtualClock, tell: Callable[..., None]
) -> None:
    for number in range(10_000):
        tell(BAD, "app", place=number)
    clock.advance(WINDOW_MS)
    assert caplog.messages == [
        "app: is bad at 0",
        "app: is bad at 9999 [9999 more like this suppressed]",
    ]


def test_one_that_goes_on_gets_a_line_a_window_and_one_that_has_stopped_starts_anew(
    caplog: pytest.LogCaptureFixture, clock: VirtualClock, tell: Callable[..., None]
) -> None:
    for _ in range(3):
        tell(BAD, "app", place=1)
        tell(BAD, "app", place=2)
        clock.advance(WINDOW_MS)
    assert caplog.messages == [
        "app: is bad at 1",
        "app: is bad at 2 [1 more like this suppressed]",
        "app: is bad at 2 [2 more like this suppressed]",
        "app: is bad at 2 [2 more like this suppressed]",
    ]
    clock.advance(WINDOW_MS)
    assert not clock.pending
    tell(BAD, "app", place=3)
    assert caplog.messages[4:] == ["app: is bad at 3"]


def test_what_is_normal_once_is_said_when_it_has_happened_often(
    caplog: pytest.LogCaptureFixture, clock: VirtualClock, tell: Callable[..., None]
) -> None:
    tell(RESTLESS, "app")
    tell(RESTLESS, "app")
    clock.advance(60_000)
    tell(RESTLESS, "app")
    tell(RESTLESS, "app")
    assert caplog.messages == []
    tell(RESTLESS, "app")
    tell(RESTLESS, "app")
    clock.advance(60_000)
    assert caplog.messages == ["app: is restless", "app: is restless [1 more like this suppressed]"]


def test_no_number_of_clients_fills_the_log(
    caplog: pytest.LogCaptureFixture, clock: VirtualClock, tell: Callable[..., None]
) -> None:
    for number in range(10_000):
        tell(BAD, f"app-{number}", place=0)
    assert len(caplog.messages) == MOST_WINDOWS + 1
    assert clock.pending == MOST_WINDOWS + 1
    clock.advance(WINDOW_MS)
    suppressed = 10_000 - MOST_WINDOWS - 1
    assert caplog.messages[-1] == f"app-9999: is bad at 0 [{suppressed} more like this suppressed]"
    assert OTHERS not in caplog.text


def test_nothing_is_kept_where_the_level_of_the_logger_forbids_the_line(
    caplog: pytest.LogCaptureFixture, clock: VirtualClock, tell: Callable[..., None]
) -> None:
    caplog.set_level(logging.ERROR, BAD.logger)
    tell(BAD, "app", place=1)
    assert not clock.pending
    assert not caplog.records


def test_the_end_of_the_broker_says_what_was_counted(
    caplog: pytest.LogCaptureFixture, clock: VirtualClock
) -> None:
    notices = Notices(clock)
    notices.tell(BAD, "app", place=1)
    notices.tell(BAD, "app", place=2)
    notices.tell(WORSE, "app")
    notices.close()
    assert caplog.messages[2:] == ["app: is bad at 2 [1 more like this suppressed]"]
    assert not clock.pending
    notices.close()
    assert len(caplog.messages) == 3


def test_a_client_cannot_end_a_line(caplog: pytest.LogCaptureFixture, tell: Callable[..., None]) -> None:
    tell(BAD, client("a\nb", "10.0.0.7"), place="\x1b[1m")
    assert caplog.messages == ["a\\nb at 10.0.0.7: is bad at \\x1b[1m"]


def test_long_names_are_cut(
    caplog: pytest.LogCaptureFixture, clock: VirtualClock, tell: Callable[..., None]
) -> None:
    for _ in range(2):
        tell(BAD, "a" * 32_767, place="b" * 32_767)
    clock.advance(WINDOW_MS)
    assert len(caplog.messages) == 2
    assert max(map(len, caplog.messages)) < 2 * LONGEST + 100


def test_no_request_fails_for_a_detail_that_its_line_lacks(
    caplog: pytest.LogCaptureFixture, tell: Callable[..., None]
) -> None:
    tell(BAD, "app")
    assert caplog.messages == ["app: is bad at unknown"]


def test_a_counted_failure_keeps_nothing_of_its_request(tell: Callable[..., None]) -> None:
    class RefusedError(Exception):
        pass

    faults = [RefusedError(), RefusedError()]
    last = weakref.ref(faults[1])
    for each in faults:
        tell(BAD, "app", place=each)
    del each, faults
    assert last() is None


def test_a_client_without_an_id_is_called_by_its_address() -> None:
    assert client(None, "10.0.0.7") == client("", "10.0.0.7") == "10.0.0.7"


def test_each_cause_has_a_line_of_its_own() -> None:
    # Several causes of the end of a connection say no more than the reason.
    texts = [each.text for each in CAUSES.values() if each.text != "connection closed: {reason}"]
    assert len(set(texts)) == len(texts)
