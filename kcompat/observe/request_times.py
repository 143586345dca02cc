"""Durations and numbers of requests by API and stage, for one page of metrics."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

from kcompat.observe.exposition import labels
from kcompat.observe.histogram import Window, new_histogram, quantiles_of
from kcompat.observe.request_counts import FETCH_CONSUMER, FETCH_FOLLOWER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kcompat.observe.exposition import Sample
    from kcompat.observe.loop_load import LoopLoad
    from kcompat.observe.request_counts import RequestCounts, RequestObserver

QUANTILES: Final = {0.50: "0.50", 0.75: "0.75", 0.95: "0.95", 0.98: "0.98", 0.99: "0.99", 0.999: "0.999"}
"""Quantiles of durations, with the label values that the JMX exporter's rules make of Kafka's attributes."""

FETCH: Final = "Fetch"
"""Kafka's name for the fetches of consumers and followers together."""

LOCAL, REMOTE, TOTAL = "local", "remote", "total"
QUEUE: Final = ("queue",)


class RequestTimes:
    """Durations of requests by API and stage, over the last minutes."""

    def __init__(
        self, requests: RequestObserver, load: LoopLoad, now: Callable[[], float] = monotonic
    ) -> None:
        """Prepare to read the counts of `requests` and `load`; `now` returns a time in seconds."""
        self.requests = requests
        self._load = load
        self._now = now
        self._window = Window()
        self._lately: dict[object, list[int]] = {}
        self._counts: dict[str, int] = {}

    def look(self) -> None:
        """Read the counts for the next page."""
        now = self._now()
        histograms = {QUEUE: self._load.delays, **self._stages()}
        self._window.note(now, histograms)
        self._lately = {key: self._window.lately(now, key, each) for key, each in histograms.items()}
        self._counts = {name: sum(histograms[name, TOTAL]) for name in self._names}

    def _stages(self) -> dict[object, list[int]]:
        """Return one histogram for each API and stage, over all versions."""
        apis: dict[str, list[RequestCounts]] = {}
        for counts in self.requests.counts():
            apis.setdefault(counts.name, []).append(counts)
        if FETCH_CONSUMER in apis:
            apis[FETCH] = apis[FETCH_CONSUMER] + apis[FETCH_FOLLOWER]
        self._names = sorted(apis)
        stages: dict[object, list[int]] = {}
        for name, versions in apis.items():
            at_once = _sum(each.at_once for each in versions)
            remote = _sum(each.remote for each in versions)
            remote[0] += sum(at_once)  # their remote time is none
            stages[name, LOCAL] = _sum([at_once, *(each.local for each in versions)])
            stages[name, REMOTE] = remote
            stages[name, TOTAL] = _sum([at_once, *(each.total for each in versions)])
        return stages

    def quantiles(self, stage: str) -> Iterator[Sample]:
        """Yield the quantiles in ms of one stage of each API."""
        for name in self._names:
            yield from self._rows(name, self._lately[name, stage])

    def queue_quantiles(self) -> Iterator[Sample]:
        """Yield the quantiles in ms of the wait for the event loop, which is the same for each API."""
        for name in self._names:
            yield from self._rows(name, self._lately[QUEUE])

    def _rows(self, name: str, histogram: Sequence[int]) -> Iterator[Sample]:
        found = quantiles_of(histogram, tuple(QUANTILES))
        for text, ns in zip(QUANTILES.values(), found, strict=True):
            yield labels(request=name, quantile=text), round(ns / 1e6, 6)

    def numbers(self) -> Iterator[Sample]:
        """Yield the number of answered requests of each API."""
        for name in self._names:
            yield labels(request=name), self._counts[name]

    def by_version(self) -> Iterator[Sample]:
        """Yield the number of answered requests of each version of each API."""
        totals: dict[tuple[str, int], int] = {}
        for counts in self.requests.counts():
            number = sum(counts.at_once) + sum(counts.total)
            names = (
                (counts.name, FETCH) if counts.name in (FETCH_CONSUMER, FETCH_FOLLOWER) else (counts.name,)
            )
            for name in names:
                totals[name, counts.version] = totals.get((name, counts.version), 0) + number
        for (name, version), number in sorted(totals.items()):
            yield labels(request=name, version=version), number

    def deprecated(self) -> Iterator[Sample]:
        """Yield the number of requests in deprecated versions."""
        for (name, version, software), number in self.requests.deprecated.items():
            yield (
                labels(
                    request=name,
                    version=version,
                    clientSoftwareName=software.name,
                    clientSoftwareVersion=software.version,
                ),
                number,
            )


def _sum(histograms: Iterable[Sequence[int]]) -> list[int]:
    total = new_histogram()
    for each in histograms:
        total = [a + b for a, b in zip(total, each, strict=True)]
    return total
