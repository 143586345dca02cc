"""Gathering of the evidence from embedded brokers, running or stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.errors import UsageError
from kcompat.testing.story.evidence import Evidence

if TYPE_CHECKING:
    from kcompat import Broker, Cluster


def evidence_of(brokers: Broker | Cluster, since: float) -> Evidence:
    """Return what brokers know of their clients since a time in seconds since the epoch."""
    everything = [each for each in brokers.requests() if not _is_of_peer(brokers, each.client_id)]
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


def _is_of_peer(brokers: Broker | Cluster, client_id: str | None) -> bool:
    """Return whether a client id is that of another broker of a cluster."""
    ids = [broker.id for broker in getattr(brokers, "brokers", ())]
    return client_id is not None and any(
        client_id == str(each) or client_id.startswith(f"broker-{each}-fetcher-") for each in ids
    )
