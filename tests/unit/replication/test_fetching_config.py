from __future__ import annotations

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.replication.fetching import FetchingConfig
from kcompat.replication.fetching_config import fetching_config


def test_the_defaults_are_kafkas() -> None:
    assert fetching_config(BrokerConfig()) == FetchingConfig()


@pytest.mark.parametrize(("release", "expected"), [("2.6", False), ("2.7-IV0", False), ("2.7-IV1", True)])
def test_old_brokers_do_not_compare_epochs_in_fetch(release: str, expected: bool) -> None:
    config = BrokerConfig({"inter.broker.protocol.version": release})
    assert fetching_config(config).fetcher.truncates_on_fetch is expected
