"""Replica counts of internal topics in a cluster of a fixed size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.config.broker import BrokerConfig
from kcompat.config.fixed_size import REPLICA_COUNTS, fit_to_size

if TYPE_CHECKING:
    import pytest

DEFAULTS = {key: BrokerConfig().integer(key) for key in REPLICA_COUNTS}


def counts(config: BrokerConfig) -> dict[str, int]:
    return {key: config.integer(key) for key in REPLICA_COUNTS}


def test_defaults_are_lowered_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    assert set(counts(fit_to_size(BrokerConfig(), 1)).values()) == {1, -1}
    assert not caplog.records


def test_a_cluster_that_is_large_enough_keeps_the_defaults() -> None:
    assert counts(fit_to_size(BrokerConfig(), 3)) == DEFAULTS


def test_a_value_of_the_user_is_lowered_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    config = BrokerConfig({"offsets.topic.replication.factor": "3", "offsets.commit.required.acks": "3"})
    fitted = fit_to_size(config, 2)
    assert fitted.integer("offsets.topic.replication.factor") == 2
    assert fitted.integer("offsets.commit.required.acks") == 2
    assert [record.getMessage() for record in caplog.records] == [
        f"{key}=3 is lowered to 2: this cluster has 2 brokers, and none can join it without "
        f"zookeeper.connect. Set {key}=2, or start more brokers"
        for key in ("offsets.topic.replication.factor", "offsets.commit.required.acks")
    ]


def test_a_value_of_the_user_that_fits_is_obeyed() -> None:
    config = BrokerConfig({"transaction.state.log.replication.factor": "2"})
    assert fit_to_size(config, 5).integer("transaction.state.log.replication.factor") == 2
