"""Checks of the arguments of faults, which raise UsageError."""

from __future__ import annotations

from kcompat.errors import UsageError


def checked_served(served: bool) -> bool:
    """Return the argument `served`: whether affected requests are served."""
    if not isinstance(served, bool):
        raise UsageError(f"served={served!r} is neither True nor False")
    return served


def checked_ms(ms: float) -> float:
    """Return a time in ms, which is above 0."""
    if isinstance(ms, bool) or not isinstance(ms, (int, float)) or not 0 < ms < float("inf"):
        raise UsageError(f"ms={ms!r} is not a time: use a number of milliseconds above 0")
    return ms


def checked_times(times: int | None) -> int | None:
    """Return the maximum number of requests that a fault affects; None for no limit."""
    if times is not None and (isinstance(times, bool) or not isinstance(times, int) or times < 1):
        raise UsageError(f"times={times!r} is not a number of requests: use 1 or more, or None for all")
    return times


def checked_rate(rate: float) -> float:
    """Return the probability that a request is affected, which is above 0."""
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate <= 1:
        raise UsageError(f"rate={rate!r} is not a probability: use a number above 0 and up to 1")
    return rate


def check_names(**values: object) -> None:
    """Check that each value is a name, or None for every name."""
    for name, value in values.items():
        if value is not None and (not isinstance(value, str) or not value):
            raise UsageError(f"{name}={value!r} is not a name: use a text, or None for every one")


def check_partition(partition: int | None, topic: str | None) -> None:
    """Check that a partition is None, or a number with the name of its topic."""
    if partition is None:
        return
    if isinstance(partition, bool) or not isinstance(partition, int):
        raise UsageError(f"partition={partition!r} is not the number of a partition: use 0 or more")
    if topic is None:
        raise UsageError(
            f"partition={partition} is of no topic: name the topic as well, as in topic='orders'"
        )
