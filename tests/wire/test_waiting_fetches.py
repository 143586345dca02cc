"""Events that end a fetch that waits for data, in a whole broker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.protocol.messages.fetch import FetchRequest
from support.raw_client import RawClient
from support.raw_requests import create_topic, fetch_request

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = 11
FINAL_EPOCH = -1
LONG_MS = 30_000


@pytest.fixture(scope="module")
def client() -> Iterator[RawClient]:
    with Broker() as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with RawClient((host, int(port))) as client:
            assert create_topic(client, "t") == 0
            yield client


def open_session(client: RawClient) -> int:
    request = fetch_request("t")
    request.session_epoch = 0
    session_id = client.call(request, VERSION).session_id
    assert session_id
    return int(session_id)


def test_closing_its_session_ends_a_waiting_fetch(client: RawClient) -> None:
    session = open_session(client)
    begin = time.monotonic()
    client.send(FetchRequest(session_id=session, session_epoch=1, max_wait_ms=LONG_MS, min_bytes=1), VERSION)
    client.send(FetchRequest(session_id=session, session_epoch=FINAL_EPOCH), VERSION)
    waited, closed = (client.receive(FetchRequest, VERSION) for _ in range(2))
    assert (waited.error_code, waited.session_id, waited.responses) == (0, session, [])
    assert (closed.error_code, closed.session_id) == (0, 0)
    assert time.monotonic() - begin < LONG_MS / 1000 / 3


def test_another_fetch_does_not(client: RawClient) -> None:
    session = open_session(client)
    begin = time.monotonic()
    client.send(FetchRequest(session_id=session, session_epoch=1, max_wait_ms=300, min_bytes=1), VERSION)
    client.send(FetchRequest(session_id=session, session_epoch=2, max_wait_ms=1), VERSION)
    assert client.receive(FetchRequest, VERSION).error_code == 0
    assert time.monotonic() - begin >= 0.3
    assert client.receive(FetchRequest, VERSION).error_code == 0
