"""The table of the periodic work of a broker."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.node.housekeeping import Chore
from kcompat.promise import Promise

if TYPE_CHECKING:
    from kcompat.cluster.delegation_tokens import Outcome
    from kcompat.log.log import Log
    from kcompat.node.parts import Parts


def chores_of(parts: Parts) -> list[Chore]:
    """Return all chores of a broker, with the intervals that its configuration sets at its start."""
    config, logs = parts.config.current, parts.storage.logs
    first = config.log_initial_task_delay_ms
    now_ms = parts.environment.clock.now_ms
    checkpoint_ms = config.replica_high_watermark_checkpoint_interval_ms
    return [
        Chore("retention", config.log_retention_check_interval_ms, partial(enforce_retention, parts), first),
        Chore(
            "recovery points",
            config.log_flush_offset_checkpoint_interval_ms,
            logs.checkpoint_recovery_points,
            first,
        ),
        Chore(
            "log starts",
            config.log_flush_start_offset_checkpoint_interval_ms,
            logs.checkpoint_log_starts,
            first,
        ),
        Chore("high watermarks", checkpoint_ms, partial(_checkpoint_high_watermarks, parts)),
        Chore("moves between directories", checkpoint_ms, parts.storage.moves.look_after),
        Chore("ISRs", max(1, config.replica_lag_time_max_ms // 2), parts.storage.replicas.shrink_isrs),
        Chore(
            "producers",
            config.producer_id_expiration_check_interval_ms,
            partial(expire_producers, parts),
        ),
        Chore(
            "delegation tokens",
            config.integer("delegation.token.expiry.check.interval.ms"),
            partial(remove_expired_tokens, parts),
        ),
        Chore("flush", config.log_flush_scheduler_interval_ms, lambda: logs.flush_due(now_ms())),
    ]


def enforce_retention(parts: Parts, topic: str | None = None) -> Promise[None]:
    """Delete the expired segments of one topic or of all."""

    def high_watermark(log: Log) -> int:
        partition = parts.storage.replicas.get(log.topic, log.partition)
        return 0 if partition is None else partition.high_watermark

    return parts.storage.logs.enforce_retention(parts.environment.clock.now_ms(), high_watermark, topic)


def expire_producers(parts: Parts, topic: str | None = None) -> Promise[None]:
    """Forget the producers of one topic or of all that have not written for `producer.id.expiration.ms`."""
    now_ms, expiration_ms = parts.environment.clock.now_ms(), parts.config.current.producer_id_expiration_ms
    return parts.storage.logs.expire_producers(now_ms, expiration_ms, topic)


def remove_expired_tokens(parts: Parts) -> Promise[list[Outcome]]:
    """Remove delegation tokens that have expired, if the controller is here: one broker is enough."""
    if parts.cluster.controller_election.is_here:
        return parts.cluster.tokens.remove_expired()
    return Promise.resolved([])


def _checkpoint_high_watermarks(parts: Parts) -> None:
    parts.storage.logs.checkpoint_high_watermarks(parts.storage.replicas.high_watermarks())
