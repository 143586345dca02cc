"""The idle share of a thread over the last minute."""

from __future__ import annotations

from kcompat.observe.loop_load import IDLE_WINDOW_NS, LoopLoad

SECOND = 10**9


async def test_the_idle_share_is_that_of_the_last_minute() -> None:
    wall, busy = 0, 0
    load = LoopLoad(lambda: wall, lambda: busy)
    load.start()
    assert load.idle_share() == 1.0, "no time has passed"
    wall, busy = 10 * SECOND, 5 * SECOND
    assert load.idle_share() == 0.5
    wall, busy = 10 * SECOND + IDLE_WINDOW_NS, 5 * SECOND + IDLE_WINDOW_NS // 4
    assert load.idle_share() == 0.75, "the busy time before is forgotten"
    load.stop()


async def test_pages_in_quick_succession_share_a_reading() -> None:
    wall = 0
    load = LoopLoad(lambda: wall, lambda: 0)
    load.start()
    for number in range(3000):
        wall = number * SECOND // 1000
        load.idle_share()
    assert load.readings == 3
    load.stop()
