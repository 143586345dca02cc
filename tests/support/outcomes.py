"""Awaits the promises of requests to other brokers on the running event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from kcompat.peer.errors import PeerError

if TYPE_CHECKING:
    from kcompat.promise import Promise

T = TypeVar("T")


async def answer_to(promise: Promise[T]) -> T:
    """Wait for the value of a promise; raise what it fails with."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    promise.then(future.set_result, future.set_exception)
    return await future


async def outcome_of(promise: Promise[Any]) -> object:
    """Wait for the value of a promise, or for the `PeerFault` that it fails with."""
    try:
        return await answer_to(promise)
    except PeerError as error:
        return error.fault
