"""Collection of the facts for a report from embedded brokers, running or stopped."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec import structs

from kcompat.errors import UsageError
from kcompat.instrumentation.recording.entry import api_named
from kcompat.peer.client_ids import is_of_broker
from kcompat.protocol.api_keys import API_FACTS
from kcompat.testing.story.evidence import Evidence

if TYPE_CHECKING:
    from kcompat import Broker, Cluster
    from kcompat.instrumentation.recording.entry import RecordedRequest

_LEAST_ADVANCE_S: Final = 1.0
"""Smallest difference in seconds between two clocks that counts as moved."""


def evidence_of(brokers: Broker | Cluster, since: float) -> Evidence:
    """Return the facts that brokers have recorded about their clients since a time in seconds since the
    epoch.
    """
    everything = [each for each in brokers.requests() if not _is_of_peer(brokers, each)]
    events = brokers.connection_events()
    earlier = [each for each in everything if each.time < since]
    known = {each.peer for each in earlier} | {each.peer for each in events if each.time < since}
    known -= {each.peer for each in events if each.what == "opened" and each.time >= since}
    in_test = [each for each in everything if each.time >= since]
    evidence = Evidence(
        "the stopped broker",
        [each for each in in_test if each.peer not in known],
        [each for each in in_test if each.peer in known],
        earlier,
        [each for each in events if each.what == "complaint" and each.time >= since],
    )
    with suppress(UsageError):  # none is running
        evidence = structs.replace(evidence, address=brokers.bootstrap_servers)
    with suppress(UsageError):  # they have stopped
        condition = brokers.condition(since)
        members = getattr(brokers, "brokers", ())
        return structs.replace(
            evidence,
            topics=brokers.topics(),
            groups=brokers.groups(),
            faults=condition.faults,
            creates_topics=condition.creates_topics,
            stopped=frozenset(each.id for each in members if not each.is_running),
            ahead_s=_ahead_s(brokers),
        )
    return evidence


def _ahead_s(brokers: Broker | Cluster) -> float:
    """Return the seconds by which a clock was moved ahead of the clock of the machine."""
    ahead = brokers.now_ms / 1000 - time.time()
    return ahead if ahead >= _LEAST_ADVANCE_S else 0.0


def _is_of_peer(brokers: Broker | Cluster, asked: RecordedRequest) -> bool:
    """Return whether a request comes from another broker of the cluster."""
    key = api_named(asked.api) if asked.api else None
    if key is not None and API_FACTS[key].cluster_action:
        return True
    return is_of_broker(key, asked.client_id, (broker.id for broker in getattr(brokers, "brokers", ())))
