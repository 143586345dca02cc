"""Resets of an embedded broker that wait for calls of other threads."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kcompat import Broker
from kcompat.embedded.thread import patience
from kcompat.errors import SnapshotError
from kcompat.instrumentation.turns import turns


def test_a_reset_behind_a_call_that_hangs_changes_nothing() -> None:
    with Broker() as broker:
        hang_and_reset(broker)


def hang_and_reset(broker: Broker) -> None:
    thread, node = broker._running()
    began, over = threading.Event(), asyncio.Event()

    async def hang() -> None:
        async with turns(node).shared():
            began.set()
            await over.wait()

    with ThreadPoolExecutor(1) as callers:
        hanging = callers.submit(thread.call, hang())
        began.wait()
        with patience(0.1), pytest.raises(SnapshotError, match="another call of the broker did not end"):
            broker.reset()
        assert broker.is_started
        thread.do(over.set)
        hanging.result()
    broker.add("t", ["record"])
    broker.reset()
    assert "t" not in broker.topics()
