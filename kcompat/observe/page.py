"""The page of metrics, written in slices between which the broker goes on serving."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, Final

from kcompat.observe import cluster_metrics, partition_metrics, process_metrics, request_metrics
from kcompat.observe.exposition import lines_of
from kcompat.observe.scrape import Scrape

if TYPE_CHECKING:
    from kcompat.node.hooks import Hooks
    from kcompat.observe.exposition import Family
    from kcompat.observe.loop_load import LoopLoad
    from kcompat.observe.request_times import RequestTimes

SLICE_S: Final = 0.001
"""Seconds of work after which the event loop serves others before the next family is written."""

FAMILIES: Final[tuple[Family[Scrape], ...]] = (
    *cluster_metrics.FAMILIES,
    *partition_metrics.FAMILIES,
    *request_metrics.FAMILIES,
    *process_metrics.FAMILIES,
)
"""All metrics, in the order of the page."""


async def page(broker: Hooks, requests: RequestTimes, load: LoopLoad) -> bytes:
    """Return the metrics of a broker in the text format of Prometheus."""
    requests.look()
    scrape = Scrape(broker, requests, load)
    text: list[str] = []
    began = perf_counter()
    for family in FAMILIES:
        text.append("".join(lines_of(family, scrape)))
        if perf_counter() > began + SLICE_S:
            await asyncio.sleep(0)
            began = perf_counter()
    return "".join(text).encode()
