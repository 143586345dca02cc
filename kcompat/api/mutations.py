"""Partitions that a request creates or deletes, counted against `controller_mutation_rate` (KIP-599).

A version from which the quota is strict refuses topics while the quota is used up, and the client asks again.
An older version does what it is asked for, and is throttled. In both the last topic may exceed the quota.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.api.context import RequestContext


class Mutations:
    """The partitions that one request creates or deletes, by topic."""

    def __init__(self, context: RequestContext, *, strict_since: int) -> None:
        """`strict_since` is the first version of the API for which the quota is strict."""
        self._charges = context.charges
        self._is_strict = context.api_version >= strict_since
        self._counted: dict[str, int] = {}

    def count(self, topic: str, partitions: int) -> bool:
        """Count the partitions of a topic; return False if the quota refuses the topic."""
        if self._charges is None:
            return True
        if not self._charges.charge_mutation(partitions, strict=self._is_strict):
            return False
        self._counted[topic] = partitions
        return True

    def uncount(self, topics: Iterable[str]) -> None:
        """Uncount topics for which the controller did nothing."""
        if self._charges is not None:
            self._charges.return_mutation(sum(self._counted.pop(topic, 0) for topic in topics))
