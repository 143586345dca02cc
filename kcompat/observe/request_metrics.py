"""Metrics of requests: counts, durations, and the requests that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.observe.exposition import Family, Kind, alone, labels
from kcompat.observe.request_times import LOCAL, REMOTE, TOTAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcompat.observe.exposition import Sample
    from kcompat.observe.scrape import Scrape


def _times(
    stage: str, meaning: str, read: Callable[[Scrape], Iterable[Sample]]
) -> tuple[Family[Scrape], ...]:
    name = f"kafka_network_requestmetrics_{stage}timems"
    return (
        Family(
            f"{name}_count",
            Kind.COUNTER,
            f"Requests of which the {meaning} was measured.",
            ("request",),
            lambda scrape: scrape.requests.numbers(),
        ),
        Family(
            name,
            Kind.GAUGE,
            f"Quantiles of the {meaning} of requests in the last 5 minutes, in ms.",
            ("request", "quantile"),
            read,
        ),
    )


def _purgatories(scrape: Scrape) -> Iterator[Sample]:
    replicas = scrape.parts.storage.replicas
    for operation, waiting in (
        ("Produce", len(replicas.produces)),
        ("Fetch", len(replicas.fetches) + len(replicas.replica_fetches)),
        ("DeleteRecords", len(replicas.deletions)),
    ):
        yield labels(delayedOperation=operation), waiting


def _sessions(scrape: Scrape) -> list[Sample]:
    return alone(len(scrape.parts.storage.services.fetch_sessions))


FAMILIES: Final[tuple[Family[Scrape], ...]] = (
    Family(
        "kafka_network_requestmetrics_requests_total",
        Kind.COUNTER,
        "Answered requests. Fetch is the sum of FetchConsumer and FetchFollower.",
        ("request", "version"),
        lambda scrape: scrape.requests.by_version(),
    ),
    Family(
        "kafka_network_requestmetrics_deprecatedrequests_total",
        Kind.COUNTER,
        "Requests in versions that Kafka 4.0 no longer serves (KIP-896), by the software of the client.",
        ("request", "version", "clientSoftwareName", "clientSoftwareVersion"),
        lambda scrape: scrape.requests.deprecated(),
    ),
    *_times("total", "total time", lambda scrape: scrape.requests.quantiles(TOTAL)),
    *_times(
        "requestqueue",
        "wait for the event loop, measured by a timer and the same for each API,",
        lambda scrape: scrape.requests.queue_quantiles(),
    ),
    *_times("local", "time of the handler", lambda scrape: scrape.requests.quantiles(LOCAL)),
    *_times(
        "remote",
        "wait for records, replicas or group members",
        lambda scrape: scrape.requests.quantiles(REMOTE),
    ),
    Family(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        Kind.GAUGE,
        "Requests that wait for records, replicas or log starts.",
        ("delayedOperation",),
        _purgatories,
    ),
    Family(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        Kind.GAUGE,
        "Fetch sessions (KIP-227).",
        (),
        _sessions,
    ),
    Family(
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        Kind.GAUGE,
        "Share of the last minute in which the event loop had nothing to do, from 0 to 1.",
        (),
        lambda scrape: alone(scrape.load.idle_share()),
    ),
    Family(
        "kafka_network_socketserver_networkprocessoravgidle_percent",
        Kind.GAUGE,
        "The same share: one event loop does the work of both kinds of threads.",
        (),
        lambda scrape: alone(scrape.load.idle_share()),
    ),
)
"""The metrics of requests, in the order of the page."""
