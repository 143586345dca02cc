"""Which requests an HTTP port of a broker takes for those of a web page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from starlette.responses import PlainTextResponse

from kcompat.observe.http_guard import Guarded, refusal

if TYPE_CHECKING:
    from starlette.types import Message


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8082", "127.0.0.1:8082", "[::1]:8082", "LOCALHOST:1"]
)
@pytest.mark.parametrize("is_loopback", [True, False])
def test_programs_of_this_machine_are_served(host: str, is_loopback: bool) -> None:
    assert refusal("control port", host, None, is_loopback=is_loopback) is None


@pytest.mark.parametrize("host", ["kafka:8082", "10.0.0.7:8082", "[fe80::1]:8082"])
def test_an_open_port_is_reached_by_addresses_and_names_of_the_local_network(host: str) -> None:
    assert refusal("control port", host, None, is_loopback=False) is None
    assert refusal("control port", host, None, is_loopback=True) is not None


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example:8082", "", "[", "127.0.0.1.evil.example"]
)
@pytest.mark.parametrize("is_loopback", [True, False])
def test_a_name_that_a_page_can_have_is_refused(host: str, is_loopback: bool) -> None:
    refused = refusal("control port", host, None, is_loopback=is_loopback)
    assert refused == f"the control port is not reached by the name {host!r}: use localhost"


def test_a_page_of_another_origin_is_refused() -> None:
    refused = refusal("control port", "localhost:8082", "http://localhost:3000", is_loopback=True)
    assert refused == "the control port does not serve pages of 'http://localhost:3000'"
    assert refusal("control port", "localhost:8082", "null", is_loopback=True) is not None
    assert refusal("control port", "localhost:8082", "http://localhost:8082", is_loopback=True) is None


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ([], b"served"),
        ([(b"host", b"localhost:1")], b"served"),
        (
            [(b"host", b"page.example")],
            b"the metrics port is not reached by the name 'page.example': use localhost",
        ),
        ([(b"host", b"localhost"), (b"origin", b"null")], b"the metrics port does not serve pages of 'null'"),
    ],
)
async def test_a_request_is_served_or_refused(headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    guarded = Guarded(PlainTextResponse("served"), "metrics port", PlainTextResponse, is_loopback=True)
    await guarded({"type": "http", "headers": headers}, receive, send)
    assert [each["body"] for each in sent if "body" in each] == [body]
