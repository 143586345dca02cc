"""How long the cleaner waits to keep to its rate."""

from __future__ import annotations

from kcompat.log.cleaner.run import CleanerThrottle


def test_a_rate_is_held() -> None:
    throttle = CleanerThrottle(1000.0)
    waited, now = 0.0, 100.0
    for _ in range(50):
        wait = throttle.wait_s(500, now)
        waited += wait
        now += wait
    assert 23.5 <= waited <= 25.0  # 25 s of bytes, one second's worth ahead at most
    assert throttle.wait_s(500, now + 3600) == 0.0


def test_no_rate() -> None:
    assert CleanerThrottle(1.7976931348623157e308).wait_s(1 << 40, 5.0) == 0.0
