"""Fetches without sessions, while a fault selects fetches by their partitions.

The requests of a fetch session list only what changed (KIP-227), so a fault could not tell which partitions
they fetch. A broker may refuse a session at any time, for instance when its cache is full, and clients then
list all partitions in each request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchResponse
from kcompat.replication.waiting.fetch_session import FINAL_EPOCH, INITIAL_EPOCH

if TYPE_CHECKING:
    from kcompat.instrumentation.exchange import ReceivedRequest
    from kcompat.net.answers import Answer


def has_unlisted_partitions(request: ReceivedRequest) -> bool:
    """Return whether a request is a fetch within a session."""
    if request.key is not ApiKey.FETCH:
        return False
    return bool(request.message.session_id) and request.message.session_epoch > INITIAL_EPOCH


def refused(request: ReceivedRequest) -> Answer:
    """Return the answer that makes the client of a session list all its partitions in the next request."""
    return request.answer_of(FetchResponse(error_code=int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)))


def without_session(request: ReceivedRequest) -> ReceivedRequest:
    """Return a fetch that would begin a session as one without a session; return any other request
    unchanged.
    """
    if request.key is not ApiKey.FETCH or request.message.session_epoch != INITIAL_EPOCH:
        return request
    return request.with_body(structs.replace(request.message, session_epoch=FINAL_EPOCH))
