"""The settings of the transaction coordinator, from the broker's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable


class TransactionCoordinatorConfig(Struct, frozen=True):
    """A snapshot of the broker's settings, with Kafka's defaults. Times in ms."""

    max_timeout_ms: int = 900_000
    abort_interval_ms: int = 10_000
    """Between two looks for transactions that are overdue."""
    expiry_interval_ms: int = 3_600_000
    """Between two looks for ids that nobody uses."""
    retention_ms: int = 604_800_000
    """After so long an id that nobody has used is forgotten."""
    commit_timeout_ms: int = 5_000

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> TransactionCoordinatorConfig:
        """The settings, by Kafka's names."""
        return cls(
            max_timeout_ms=get("transaction.max.timeout.ms"),
            abort_interval_ms=get("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
            expiry_interval_ms=get("transaction.remove.expired.transaction.cleanup.interval.ms"),
            retention_ms=get("transactional.id.expiration.ms"),
            commit_timeout_ms=get("request.timeout.ms"),
        )
