"""The figures of the bench and the table it prints."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OURS, KAFKA, MOCK, BEFORE = "kcompat", "Kafka 3.9.2", "mock", "before"


class Figure(NamedTuple):
    """One row of the table."""

    name: str
    label: str
    unit: str
    target: str = ""
    """The ratio to Kafka that we aim at, for the reader; nothing passes or fails here."""


FIGURES = (
    Figure("produce-100b", "librdkafka produce, 100 B, acks=1", "k records/s", ">= 1.0"),
    Figure("produce-100b-cpu", "  broker CPU", "s per million", "<= 0.5"),
    Figure("produce-1kib", "librdkafka produce, 1 KiB, acks=1", "MB/s", ">= 1.9"),
    Figure("produce-1kib-cpu", "  broker CPU", "s per GB", "<= 0.3"),
    Figure("consume-100b", "librdkafka consume, 100 B", "k records/s"),
    Figure("consume-1kib", "librdkafka consume, 1 KiB", "MB/s"),
    Figure("consume-1kib-cpu", "  broker CPU", "s per GB"),
    Figure(
        "small-pipelined", "one 100 B record a request, 32 in flight, 1 connection", "k requests/s", ">= 8"
    ),
    Figure("small-pipelined-cpu", "  broker CPU", "s per million"),
    Figure("small-parallel", "one 100 B record a request, 20 connections", "k requests/s", ">= 1.6"),
    Figure("small-parallel-cpu", "  broker CPU", "s per million"),
    Figure("big-batches", "1 MB batches, uncompressed", "MB/s", ">= 3.3"),
    Figure("big-batches-cpu", "  broker CPU", "s per GB"),
    Figure("full-batches", "1 MB batches of 100 B records, every record checked", "MB/s", ">= 3.3"),
    Figure("full-batches-cpu", "  broker CPU", "s per GB"),
    Figure("full-batches-python", "  without the native extension", "MB/s"),
    Figure("full-batches-cpu-python", "    broker CPU", "s per GB"),
    Figure("fetch", "fetch, answers of 10 MB", "MB/s", ">= 2"),
    Figure("fetch-cpu", "  broker CPU", "s per GB"),
    Figure("tls-produce-1kib", "TLS: librdkafka produce, 1 KiB, acks=1", "MB/s", ">= 1.3"),
    Figure("tls-produce-1kib-cpu", "  broker CPU", "s per GB", "<= 0.7"),
    Figure("tls-fetch", "TLS: fetch, answers of 10 MB", "MB/s", ">= 1.3"),
    Figure("tls-fetch-cpu", "  broker CPU", "s per GB", "<= 0.7"),
    Figure("tls-login", "TLS: connect and log in by PLAIN, p50", "ms", "<= 0.6"),
    Figure(
        "refused-plain",
        "p99 beside 500 logins a second refused by PLAIN, over the calm one",
        "",
        "<= 2 of ours",
    ),
    Figure("refused-scram", "  by SCRAM", "", "<= 2 of ours"),
    Figure("acks-1-p50", "one record at a time, acks=1, p50", "us", "<= 0.65"),
    Figure("acks-1-p99", "  p99", "us", "<= 0.65"),
    Figure("acks-all-p50", "one record at a time, acks=all, p50", "us", "<= 0.65"),
    Figure("acks-all-p99", "  p99", "us", "<= 0.65"),
    Figure("flush-alone-p50", "flush.messages=1, one record at a time, acks=1, p50", "us"),
    Figure("flush-parallel", "  20 connections", "k requests/s", ">= 1.0"),
    Figure("flush-parallel-p99", "  p99", "us"),
    Figure("flush-parallel-cpu", "  broker CPU", "s per million"),
    Figure("end-to-end-p50", "produce to consume, librdkafka, p50", "us", "<= 0.75"),
    Figure("end-to-end-p99", "  p99", "us"),
    Figure("fresh-group", "first record of a fresh group, librdkafka", "ms", "<= 0.5"),
    Figure("fresh-group-aiokafka", "  aiokafka, which never pauses", "ms", "<= 0.5"),
    Figure("fresh-group-java", "  Kafka's own client", "ms", "<= 0.5"),
    Figure("fresh-group-raw", "  the bare requests", "ms", "<= 0.5"),
    Figure("create-500", "create 50 topics of 10 partitions", "ms", "<= 1.5"),
    Figure("compaction", "compaction of 1 GB, records of 1 kB", "s", "<= 1.0"),
    Figure("compaction-cpu", "  broker CPU, with its cleaner", "s"),
    Figure("compaction-p99", "  p99 of a produce meanwhile, over the calm one", "", "<= 3 of ours"),
    Figure("start", "start, from exec to the first answer", "ms", "<= 0.12"),
    Figure("restart-kill", "restart after kill -9, 1,000 segments", "ms", "<= 0.3"),
    Figure("restart-kill-cpu", "  broker CPU", "ms"),
    Figure("restart-stop", "restart after a clean stop, 1,000 segments", "ms"),
    Figure("restart-stop-cpu", "  broker CPU", "ms"),
    Figure("memory-at-rest", "memory at rest", "MB", "<= 0.15"),
    Figure("memory-after-load", "memory after all this load", "MB"),
    Figure("idle-connections", "memory of 5,000 idle connections", "MB", "<= 10 MB"),
    Figure("idle-cpu", "processor time at rest", "% of a core", "<= 0.1 %"),
    Figure("spark", "Spark micro-batch, topic to topic, median", "ms", "<= 0.3"),
    Figure("spark-waiting", "  without ending a waiting fetch", "ms"),
)

Results = dict[str, dict[str, list[float]]]
"""Values of all rounds, by figure and then by peer."""


def add(results: Results, peer: str, numbers: Mapping[str, float]) -> None:
    """Note what one trial found."""
    for name, value in numbers.items():
        results.setdefault(name, {}).setdefault(peer, []).append(value)


def table(results: Results, figures: Sequence[Figure] = FIGURES, beside: str = KAFKA) -> str:
    """Medians, and ratios to the peer `beside`, as plain text, which is also a Markdown table."""
    rows = [("measure", "unit", OURS, beside, "ratio", "wanted", MOCK)]
    rows += [_row(figure, results[figure.name], beside) for figure in figures if figure.name in results]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| " + " | ".join(_aligned(row, widths)) + " |" for row in rows]
    rule = ["-" * width if column < 2 else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
    lines.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(lines)


def _row(figure: Figure, by_peer: Mapping[str, list[float]], beside: str) -> tuple[str, ...]:
    ours, theirs = by_peer.get(OURS), by_peer.get(beside)
    ratio = f"{median(_ratios(ours, theirs)):.2f}" if ours and theirs and median(theirs) else ""
    shown = [_show(by_peer.get(peer)) for peer in (OURS, beside)]
    wanted = figure.target if beside == KAFKA else ""
    return figure.label, figure.unit, *shown, ratio, wanted, _show(by_peer.get(MOCK))


def _ratios(ours: Sequence[float], beside: Sequence[float]) -> list[float]:
    """Ratios of the same round: what disturbs one round disturbs both sides of it."""
    return [mine / theirs for mine, theirs in zip(ours, beside, strict=False) if theirs]


def _show(values: list[float] | None) -> str:
    if not values:
        return ""
    value = median(values)
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    pairs = enumerate(zip(row, widths, strict=True))
    return [cell.ljust(width) if column < 2 else cell.rjust(width) for column, (cell, width) in pairs]
