"""Partitions in targets and in members' reports: by the 16-byte id of their topic."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NO_PARTITIONS: Mapping[bytes, frozenset[int]] = MappingProxyType({})


def partitions(pairs: Iterable[tuple[bytes, Iterable[int]]]) -> dict[bytes, frozenset[int]]:
    """Return partitions by topic id, without topics that have no partitions."""
    found = {topic_id: frozenset(indexes) for topic_id, indexes in pairs}
    return {topic_id: indexes for topic_id, indexes in found.items() if indexes}
