"""The time of the brokers, by the control port."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from kcompat.errors import UsageError
from kcompat.instrumentation.control.topics import insist_on_topic
from kcompat.instrumentation.expiration import expire

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control
    from kcompat.instrumentation.control.operation import Nothing

LONGEST: Final = timedelta(days=36525)
"""Longest single advance: 100 years."""


class Duration(Struct, forbid_unknown_fields=True):
    """A time, as the sum of its fields."""

    weeks: Annotated[float, Meta(ge=0, le=5217)] = 0
    days: Annotated[float, Meta(ge=0, le=36525)] = 0
    hours: Annotated[float, Meta(ge=0, le=876_600)] = 0
    minutes: Annotated[float, Meta(ge=0, le=52_596_000)] = 0
    seconds: Annotated[float, Meta(ge=0, le=3_155_760_000)] = 0
    ms: Annotated[float, Meta(ge=0, le=3_155_760_000_000)] = 0


class WhatExpires(Struct, forbid_unknown_fields=True):
    """The choice of data that is checked for expiry."""

    topic: Annotated[
        str | None, Meta(description="Only the producers and segments of this topic; all by default.")
    ] = None


class Clock(Struct):
    """The time of the brokers."""

    now_ms: Annotated[int, Meta(description="Milliseconds since 1970.")]
    is_manual: Annotated[bool, Meta(description="Whether the time can be moved ahead.")]


async def get_clock(control: Control, _: Nothing) -> Clock:
    """Return the time of the brokers."""
    now_ms = control.brokers.parts[0].environment.clock.now_ms()
    return Clock(now_ms, control.time is not None)


async def advance_clock(control: Control, by: Duration) -> Clock:
    """Move the time forward.

    Everything that is due by then expires in order, at its due time. The answer is sent when that is done.
    """
    if control.time is None:
        raise UsageError("the time is that of the machine: start the broker with a manual clock")
    duration = timedelta(
        weeks=by.weeks,
        days=by.days,
        hours=by.hours,
        minutes=by.minutes,
        seconds=by.seconds,
        milliseconds=by.ms,
    )
    if duration > LONGEST:
        raise UsageError("the time is moved by 100 years at most")
    await control.time.advance(duration / timedelta(milliseconds=1), lambda: control.nodes)
    return Clock(control.time.now_ms, is_manual=True)


async def expire_now(control: Control, what: WhatExpires) -> None:
    """Run the brokers' periodic checks for expired data now."""
    if what.topic is not None:
        insist_on_topic(control, what.topic)
    await expire(control.nodes, what.topic)
