"""How long to wait after failures in a row."""

from __future__ import annotations

from random import Random

from kcompat.peer.backoff import backoff_ms


def test_waits_double_up_to_the_longest_and_differ_from_broker_to_broker() -> None:
    chance = Random(1)
    for failures, usual in enumerate([50, 100, 200, 400, 800, 1000, 1000]):
        waits = [backoff_ms(failures, 50, 1000, chance) for _ in range(200)]
        assert usual * 0.79 < min(waits) < usual * 0.95
        assert max(waits) <= min(1000, usual * 1.2)
        assert len({round(wait) for wait in waits}) > 10
    assert backoff_ms(10**9, 50, 1000, chance) <= 1000
