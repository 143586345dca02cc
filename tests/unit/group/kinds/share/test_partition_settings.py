"""The effective settings of a group's share partitions."""

from __future__ import annotations

import pytest

from kcompat.cluster.config_entities import GROUPS
from kcompat.cluster.image import ClusterImage
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.group.kinds.share.partition_settings import SharePartitionSettings
from kcompat.replication.listing import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kcompat.replication.reading import READ_COMMITTED, READ_UNCOMMITTED
from kcompat.share.partition.limits import ShareLimits


def settings(**own: str) -> SharePartitionSettings:
    """Return the settings on a broker on which group `g` has these configs; names have _ in place of dots."""
    cluster = MetadataCache("cluster")
    named = {f"share.{name.replace('_', '.')}": value for name, value in own.items()}
    cluster.update(ClusterImage("cluster").with_configs({(GROUPS, "g"): named}))
    return SharePartitionSettings(ConfigFeed(BrokerConfig()), cluster)


def test_a_group_without_settings_follows_the_broker() -> None:
    found = settings()
    assert found.limits("g") == ShareLimits(200, 5, 30_000, True)
    assert found.isolation_level("g") == READ_UNCOMMITTED
    assert found.start_timestamp("g", 1_000) == LATEST_TIMESTAMP


def test_settings_of_a_group() -> None:
    found = settings(
        partition_max_record_locks="300",
        delivery_count_limit="2",
        record_lock_duration_ms="15000",
        renew_acknowledge_enable="false",
        isolation_level="read_committed",
    )
    assert found.limits("g") == ShareLimits(300, 2, 15_000, False)
    assert found.limits("other") == ShareLimits(200, 5, 30_000, True)
    assert found.isolation_level("g") == READ_COMMITTED


def test_bounds_that_are_younger_than_a_setting() -> None:
    assert settings(delivery_count_limit="99", record_lock_duration_ms="2000").limits("g") == ShareLimits(
        200, 10, 15_000, True
    )


@pytest.mark.parametrize(
    ("strategy", "timestamp"),
    [("earliest", EARLIEST_TIMESTAMP), ("by_duration:PT1S", 4_000), ("by_duration:PT1H", 0)],
)
def test_where_a_group_begins(strategy: str, timestamp: int) -> None:
    assert settings(auto_offset_reset=strategy).start_timestamp("g", 5_000) == timestamp
