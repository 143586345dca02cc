"""The feed of a broker's current configuration."""

from __future__ import annotations

from kcompat.config.broker import BrokerConfig, ConfigFeed


def test_subscribers_hear_of_another_configuration_when_it_is_in_force() -> None:
    first, second = BrokerConfig({}), BrokerConfig({"num.partitions": "7"})
    feed = ConfigFeed(first)
    assert feed.current is first
    heard = []
    feed.subscribe(lambda config: heard.append((config, feed.current)))
    feed.replace(second)
    assert heard == [(second, second)]
