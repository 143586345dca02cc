"""Statistics of measured samples."""

from __future__ import annotations


def distance(ones: list[float], others: list[float]) -> float:
    """Return how far two samples are apart, in standard errors of the sum of ranks (Mann and Whitney)."""
    ranked = sorted([(value, 0) for value in ones] + [(value, 1) for value in others])
    ranks = sum(rank for rank, (_, kind) in enumerate(ranked, 1) if kind == 0)
    n, m = len(ones), len(others)
    mean, variance = n * (n + m + 1) / 2, n * m * (n + m + 1) / 12
    return float(abs(ranks - mean) / variance**0.5)
