"""The reference page of the metrics, made from what the broker shows.

`python -m kcompat.observe.documentation` prints it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kcompat.observe import cluster_metrics, partition_metrics, process_metrics, request_metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.observe.exposition import Family
    from kcompat.observe.scrape import Scrape

_HEAD: Final = """# Metrics

This page lists every metric that a broker shows at its metrics port. How to open the port, and what to watch,
is said in [watch a broker](../how-to/watch-a-broker.md). The names and labels are the ones that the JMX
exporter gives Kafka's metrics by its rules for Kafka (`kafka-2_0_0.yml`) and by Strimzi's rules. Counters
begin at 0 when the broker starts. Percentages in Kafka's names are shares from 0 to 1.

A metric without labels in this table is one line of the page. Labels in brackets are missing in some lines.
"""

_GROUPS: Final = (
    ("The broker, its cluster and its groups", cluster_metrics.FAMILIES),
    ("Topics and partitions", partition_metrics.FAMILIES),
    ("Requests", request_metrics.FAMILIES),
    ("The process and its connections", process_metrics.FAMILIES),
)


def markdown() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *(line for title, families in _GROUPS for line in _table(title, families))])


def _table(title: str, families: tuple[Family[Scrape], ...]) -> Iterator[str]:
    yield from (f"## {title}", "", "| metric | labels | type | meaning |", "| --- | --- | --- | --- |")
    for family in families:
        named = ", ".join(f"({name})" if name in family.optional else name for name in family.labels)
        yield f"| `{family.name}` | {named} | {family.kind.value} | {family.meaning} |"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(markdown())
