"""What `Fetching` takes of the broker's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.peer.releases import release
from kcompat.replication.fetch_state import FetcherConfig
from kcompat.replication.fetching import FetchingConfig

if TYPE_CHECKING:
    from kcompat.config.broker import BrokerConfig

FIRST_WITH_DIVERGING_EPOCHS: Final = release("2.7-IV1")


def fetching_config(broker: BrokerConfig) -> FetchingConfig:
    """The keys `replica.fetch.*` and their neighbours."""
    brokers_release = release(broker.string("inter.broker.protocol.version"))
    return FetchingConfig(
        fetcher=FetcherConfig(
            max_wait_ms=broker.integer("replica.fetch.wait.max.ms"),
            min_bytes=broker.integer("replica.fetch.min.bytes"),
            partition_max_bytes=broker.integer("replica.fetch.max.bytes"),
            response_max_bytes=broker.integer("replica.fetch.response.max.bytes"),
            backoff_ms=broker.integer("replica.fetch.backoff.ms"),
            truncates_on_fetch=brokers_release >= FIRST_WITH_DIVERGING_EPOCHS,
        ),
        fetchers=broker.integer("num.replica.fetchers"),
        timeout_ms=broker.integer("replica.socket.timeout.ms"),
    )
