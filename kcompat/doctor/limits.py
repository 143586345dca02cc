"""Checks of a client's settings against the limits of the brokers that it will hit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.doctor.finding import error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcompat.doctor.finding import Finding


class Limit(Struct, frozen=True):
    """A setting of clients, and the broker setting that limits it."""

    client: str
    broker: str
    is_least: bool
    """Whether the broker's value is a minimum; otherwise it is a maximum."""
    consequence: str


LIMITS: Final = (
    Limit("max.request.size", "message.max.bytes", False, "it refuses larger batches"),
    Limit("batch.size", "message.max.bytes", False, "it refuses larger batches"),
    Limit("session.timeout.ms", "group.max.session.timeout.ms", False, "members cannot join groups"),
    Limit("session.timeout.ms", "group.min.session.timeout.ms", True, "members cannot join groups"),
    Limit(
        "transaction.timeout.ms", "transaction.max.timeout.ms", False, "producers cannot begin transactions"
    ),
)
"""Settings of clients, each with the broker setting that limits it."""


def look_at_limits(settings: Mapping[str, str], configs: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the settings of a client with which it does not start, or because of which brokers with these
    configs will refuse its requests.
    """
    for name in dict.fromkeys(limit.client for limit in LIMITS):
        if name in settings and not _is_number(settings[name]):
            yield error(
                "setting-not-a-number",
                f"{name}={settings[name]} of the client is not a number, so no client starts with it",
                f"Set {name} to a whole number.",
            )
    for limit in LIMITS:
        mine, theirs = settings.get(limit.client), configs.get(limit.broker)
        if mine is None or theirs is None or not _is_number(mine) or not _is_number(theirs):
            continue
        if int(mine) < int(theirs) if limit.is_least else int(mine) > int(theirs):
            yield error(
                "setting-beyond-limit",
                f"{limit.client}={mine} of the client is {'below' if limit.is_least else 'above'} "
                f"{limit.broker}={theirs} of the broker: {limit.consequence}",
                f"Set {limit.client}={theirs}, or change {limit.broker} of the brokers.",
            )


def _is_number(text: str) -> bool:
    return text.strip().removeprefix("-").isdecimal()
