"""Expiration on request: runs the checks for expired data that a broker makes periodically."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from kcompat.node import chores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.node.broker import BrokerNode
    from kcompat.promise import Promise
    from kcompat.transaction.coordinator import TransactionCoordinator

T = TypeVar("T")

MARKERS_S: Final = 10.0
"""Longest wait in seconds for the markers of aborted transactions; markers of a partition without a leader
are written later.
"""
MARKERS_PAUSE_S: Final = 0.002


async def expire(nodes: Sequence[BrokerNode], topic: str | None = None) -> None:
    """Remove what has expired on these brokers, as their next checks would, and wait until that is done.

    Transactions that have timed out are aborted first, since other data expires only after its transaction.
    Then transactional ids, offsets of groups, idempotent producers, segments past their retention, and
    delegation tokens are removed. With `topic`, only its producers and segments are checked.
    """
    for node in nodes:
        if topic is None:
            await _expire_coordinated(node)
        await done(chores.expire_producers(node.parts, topic))
        await done(chores.enforce_retention(node.parts, topic))
        if topic is None:
            await done(chores.remove_expired_tokens(node.parts))


async def _expire_coordinated(node: BrokerNode) -> None:
    coordinators = node.parts.coordinators
    await done(coordinators.transactions.abort_overdue())
    await _until_marked(coordinators.transactions)
    await done(coordinators.transactions.expire_ids())
    await done(coordinators.groups.expire_offsets())


async def _until_marked(transactions: TransactionCoordinator) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + MARKERS_S
    while transactions.is_marking and loop.time() < end:  # noqa: ASYNC110 - markers announce no end
        await asyncio.sleep(MARKERS_PAUSE_S)


async def done(promise: Promise[T]) -> T:
    """Return the value of a promise when it is completed, or raise the exception that it failed with."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def succeeded(value: T) -> None:
        if not future.done():
            future.set_result(value)

    def failed(error: Exception) -> None:
        if not future.done():
            future.set_exception(error)

    promise.then(succeeded, failed)
    return await future
