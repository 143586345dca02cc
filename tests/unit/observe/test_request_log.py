"""The request log and the log of slow requests: what is in a line, and which stage took the time."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.json import decode

from kcompat.config.dynamic import Alteration, ConfigOperation
from kcompat.config.loggers import change_loggers, level_listeners
from kcompat.logger_names import REQUESTS
from kcompat.net.answers import CLOSE, Mode, Waiting
from kcompat.notices.notices import Notices
from kcompat.observe.request_log import RequestLogs
from kcompat.promise import Promise
from kcompat.protocol.compiling import compile_framer
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcompat.security.sasl.exchange import SaslExchange
from support.raw_client import request_frame
from support.recorded_broker import Peer, RecordedBroker
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.net.answers import Answer
    from kcompat.protocol.message import Message

ASKED = request_frame(MetadataRequest(topics=[]), 9, 7, "app")[4:]
ANSWER = compile_framer(MetadataResponse, 9)(MetadataResponse(throttle_time_ms=300), 7, 1)


class Hub:
    """The part of a broker's server that the log uses."""

    def __init__(self) -> None:
        self.hub = self
        self.notices = Notices(VirtualClock())


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    logger = logging.getLogger(REQUESTS)
    before = logger.level
    yield
    logger.setLevel(before)
    level_listeners.clear()


def attached(slow_ms: float | None = None) -> RecordedBroker:
    broker = RecordedBroker()
    broker.hooks.server = cast("Any", Hub())
    RequestLogs(broker.hooks, slow_ms)
    return broker


def work(seconds: float) -> None:
    """Hold the event loop up."""
    time.sleep(seconds)


async def ask(broker: RecordedBroker, answer: Answer, frame: bytes = ASKED, peer: Peer | None = None) -> None:
    broker.ask(peer or Peer(40_000), frame, answer)
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_request_has_a_line_with_the_fields_of_kafka(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, REQUESTS)
    await ask(attached(), ANSWER)
    [record] = caplog.records
    assert (record.name, record.levelno) == (REQUESTS, logging.DEBUG)
    start, _, text = record.getMessage().partition(":")
    assert start == "Completed request"
    line = decode(text)
    assert line["requestHeader"] == {
        "requestApiKey": 3,
        "requestApiVersion": 9,
        "correlationId": 7,
        "clientId": "app",
        "requestApiKeyName": "METADATA",
    }
    assert (line["requestName"], line["listener"]) == ("Metadata", "PLAINTEXT")
    assert line["connection"] == "127.0.0.1:9092-127.0.0.1:40000"
    assert (line["principal"], line["throttleTimeMs"]) == ("User:ANONYMOUS", 300)
    stages = ("requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "responseSendTimeMs")
    assert line["totalTimeMs"] == pytest.approx(sum(line[stage] for stage in stages), abs=0.01)


async def test_the_log_begins_and_ends_while_the_broker_runs(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger(REQUESTS).setLevel(logging.WARNING)
    broker = attached()
    serve = broker.handler.on_frame
    assert serve == broker.on_frame  # nothing measures
    change_loggers([Alteration(REQUESTS, ConfigOperation.SET, "DEBUG")], validate_only=False)
    await ask(broker, ANSWER)
    assert len(caplog.records) == 1
    change_loggers([Alteration(REQUESTS, ConfigOperation.SET, "INFO")], validate_only=False)
    assert broker.handler.on_frame == broker.on_frame
    for stop in broker.stops:
        stop()
    assert not level_listeners


async def test_what_is_no_request_has_no_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, REQUESTS)
    broker = attached()
    await ask(broker, CLOSE)
    await ask(broker, ANSWER, b"\x7f\xff\0\0")
    logging_in = Peer(40_000)
    logging_in.context = SaslExchange({}, cast("Any", None))
    await ask(broker, ANSWER, b"\0alice\0secret", logging_in)
    assert not caplog.records


async def test_a_slow_request_is_named_with_the_stage_that_took_the_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = attached(slow_ms=20)
    await ask(broker, ANSWER)
    assert not caplog.records
    later: Promise[Answer] = Promise()
    broker.ask(Peer(40_000), ASKED, Waiting(later, Mode.BLOCKING))
    work(0.03)
    later.complete(ANSWER)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    [line] = caplog.messages
    assert line.startswith("app at 127.0.0.1: Metadata v9 took ")
    assert "waiting for replicas, brokers or members" in line
    words = line.replace(",", "").split()
    assert float(words[words.index("waiting") - 1]) >= 30
    assert line.endswith("throttled for 300 ms")


async def test_a_request_that_waits_behind_another_one_is_slow_for_that(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = attached(slow_ms=20)
    other = request_frame(MetadataRequest(topics=[]), 9, 8, "other")[4:]
    broker.ask(Peer(1), other, ANSWER)
    work(0.03)  # the handler of the other one, as far as this one can tell
    await ask(broker, ANSWER)
    assert any(line.startswith("app at") and " behind other requests" in line for line in caplog.messages)


async def test_a_fetch_that_waits_for_data_is_not_slow(caplog: pytest.LogCaptureFixture) -> None:
    broker = attached(slow_ms=20)
    asked: Message = FetchRequest(max_wait_ms=500)
    later: Promise[Answer] = Promise()
    broker.ask(Peer(1), request_frame(asked, 11, 1, "app")[4:], Waiting(later, Mode.BLOCKING))
    work(0.03)
    later.complete([b"\0\0\0\4\0\0\0\1"])
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not caplog.records
