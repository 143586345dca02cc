from __future__ import annotations

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.replication.following.fetch_state import FetcherConfig
from kcompat.replication.following.fetcher_manager import FetcherManagerConfig, fetcher_manager_config


def test_the_defaults_are_kafkas() -> None:
    assert fetcher_manager_config(BrokerConfig()) == FetcherManagerConfig(
        fetcher=FetcherConfig(
            max_wait_ms=500,
            min_bytes=1,
            partition_max_bytes=1 << 20,
            behind_max_bytes=4 << 20,
            response_max_bytes=10 << 20,
            backoff_ms=1000,
            truncates_on_fetch=True,
        ),
        fetchers=1,
        timeout_ms=30_000,
    )


@pytest.mark.parametrize(("release", "expected"), [("2.6", False), ("2.7-IV0", False), ("2.7-IV1", True)])
def test_old_brokers_do_not_compare_epochs_in_fetch(release: str, expected: bool) -> None:
    config = BrokerConfig({"inter.broker.protocol.version": release})
    assert fetcher_manager_config(config).fetcher.truncates_on_fetch is expected


@pytest.mark.parametrize(
    ("given", "expected"), [({}, (1 << 20, 4 << 20)), ({"replica.fetch.max.bytes": "5000"}, (5000, 5000))]
)
def test_who_is_behind_takes_more_at_once_unless_the_limit_was_set(
    given: dict[str, str], expected: tuple[int, int]
) -> None:
    fetcher = fetcher_manager_config(BrokerConfig(given)).fetcher
    assert (fetcher.partition_max_bytes, fetcher.behind_max_bytes) == expected
