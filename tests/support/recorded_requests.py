"""Recorded requests and evidence about clients, made of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.instrumentation.recording.entry import RecordedRequest
from kcompat.instrumentation.recording.exchange import Fate, RecordedExchange
from kcompat.instrumentation.topics import PartitionState, Topic
from kcompat.protocol.api_keys import API_FACTS
from kcompat.security.principals import ANONYMOUS
from support.raw_client import request_frame

if TYPE_CHECKING:
    from kcompat.protocol.message import Message


def recorded(
    request: Message,
    response: Message | None,
    at: float = 0.0,
    client_id: str | None = "client",
    version: int = 0,
    port: int = 1,
) -> RecordedRequest:
    """A request and its answer as a recorder has them; without an answer the request waits."""
    frame = request_frame(request, version, client_id=client_id)[4:]
    answer: tuple[bytes, ...] = ()
    if response is not None:
        header = bytes(4 + API_FACTS[request.api_key].response_header_version(version))
        body = b"".join([header, *map(bytes, response.encode(version))])
        answer = (len(body).to_bytes(4, "big") + body,)
    fate = Fate.WAITING if response is None else Fate.ANSWERED
    exchange = RecordedExchange(
        int(at * 1e9), "127.0.0.1", port, "PLAINTEXT", ANONYMOUS, frame, len(frame), fate, answer
    )
    return RecordedRequest(exchange, 0, {})


def topic(name: str, *ends: int, configs: dict[str, str | None] | None = None) -> Topic:
    """A topic whose partitions end at these offsets."""
    partitions = tuple(
        PartitionState(index, 0, 0, (0,), (0,), 0, end, end, end, 0) for index, end in enumerate(ends)
    )
    return Topic(name, f"id of {name}", False, partitions, {}, configs or {})
