"""Gathering of the evidence from embedded brokers, running or stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.errors import UsageError
from kcompat.testing.story.evidence import Evidence

if TYPE_CHECKING:
    from kcompat import Broker, Cluster


def evidence_of(brokers: Broker | Cluster, since: float) -> Evidence:
    """Return what brokers know of their clients since a time in seconds since the epoch."""
    everything = brokers.requests()
    events = brokers.connection_events(since)
    try:
        address, topics, groups = brokers.bootstrap_servers, brokers.topics(), brokers.groups()
    except UsageError:  # they have stopped
        address, topics, groups = "the stopped broker", {}, {}
    return Evidence(
        address,
        [each for each in everything if each.time >= since],
        [each for each in everything if each.time < since],
        [each for each in events if each.what == "complaint"],
        topics,
        groups,
    )
