"""What those who fetch, from others (`Fetching`) or here (`Moves`), take of the broker's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.peer.releases import release
from kcompat.replication.following.fetch_state import BEHIND_MAX_BYTES, FetcherConfig
from kcompat.replication.following.fetcher_manager import FetchingConfig
from kcompat.replication.moving.moves import MovesConfig

if TYPE_CHECKING:
    from kcompat.config.broker import BrokerConfig

FIRST_WITH_DIVERGING_EPOCHS: Final = release("2.7-IV1")


def fetching_config(broker: BrokerConfig) -> FetchingConfig:
    """The keys `replica.fetch.*` and their neighbours."""
    brokers_release = release(broker.string("inter.broker.protocol.version"))
    partition_max_bytes = broker.integer("replica.fetch.max.bytes")
    is_given = "replica.fetch.max.bytes" in broker.given
    return FetchingConfig(
        fetcher=FetcherConfig(
            max_wait_ms=broker.integer("replica.fetch.wait.max.ms"),
            min_bytes=broker.integer("replica.fetch.min.bytes"),
            partition_max_bytes=partition_max_bytes,
            behind_max_bytes=partition_max_bytes if is_given else BEHIND_MAX_BYTES,
            response_max_bytes=broker.integer("replica.fetch.response.max.bytes"),
            backoff_ms=broker.integer("replica.fetch.backoff.ms"),
            truncates_on_fetch=brokers_release >= FIRST_WITH_DIVERGING_EPOCHS,
        ),
        fetchers=broker.integer("num.replica.fetchers"),
        timeout_ms=broker.integer("replica.socket.timeout.ms"),
    )


def moves_config(broker: BrokerConfig) -> MovesConfig:
    """The keys of moves between log directories, and those of `replica.fetch.*` that have to do with them."""
    copiers = broker.get("num.replica.alter.log.dirs.threads")
    partition_max_bytes = broker.integer("replica.fetch.max.bytes")
    return MovesConfig(
        fetcher=FetcherConfig(
            partition_max_bytes=partition_max_bytes,
            behind_max_bytes=partition_max_bytes,  # one thread reads and writes, and serves others between
            backoff_ms=broker.integer("replica.fetch.backoff.ms"),
        ),
        copiers=len(broker.log_dirs)
        if copiers is None
        else max(1, broker.integer("num.replica.alter.log.dirs.threads")),
        bytes_per_second=broker.integer("replica.alter.log.dirs.io.max.bytes.per.second"),
        samples=broker.integer("alter.log.dirs.replication.quota.window.num"),
        sample_ms=broker.integer("alter.log.dirs.replication.quota.window.size.seconds") * 1000,
    )
