"""The clock of a running broker."""

from __future__ import annotations

import asyncio
import time

from kcompat.net.loop_clock import LoopClock


async def test_now_is_the_wall_clock():
    before = time.time() * 1000
    assert before - 1 <= LoopClock(asyncio.get_running_loop()).now_ms() <= time.time() * 1000


async def test_timers_run_once_and_can_be_cancelled():
    loop = asyncio.get_running_loop()
    clock, ran = LoopClock(loop), asyncio.Event()
    begun = loop.time()
    clock.call_later(1, lambda: ran.clear()).cancel()
    clock.call_later(20, ran.set)
    await asyncio.wait_for(ran.wait(), 10)
    assert loop.time() - begun >= 0.019
