"""Fixtures for pytest: a broker for the whole run, and the name of a topic for each test.

    # conftest.py
    pytest_plugins = ["kcompat.testing"]

    # test_orders.py
    def test_orders(kafka_broker, kafka_topic):
        producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers)
        producer.send(kafka_topic, b"order").get()

Nothing else in the package imports pytest, and no run of pytest loads this unless it is named.

`KcompatContainer` starts the container image instead; it needs the extra `testcontainers`.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

import pytest

from kcompat.embedded import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.embedded.settings import Settings
    from kcompat.testing.container import KcompatContainer as KcompatContainer

_LONGEST_NAME: Final = 200
_numbers: Final = itertools.count(1)


def __getattr__(name: str) -> object:
    """Import Testcontainers only when `KcompatContainer` is used."""
    if name == "KcompatContainer":
        from kcompat.testing.container import KcompatContainer

        return KcompatContainer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@pytest.fixture(scope="session")
def kafka_config() -> Settings:
    """Return the settings of `kafka_broker`: none. Override this fixture in a conftest.py to set others."""
    return {}


@pytest.fixture(scope="session")
def kafka_broker(kafka_config: Settings) -> Iterator[Broker]:
    """Yield a running broker that all tests of the run share; with pytest-xdist, all tests of a worker."""
    with Broker(config=kafka_config) as broker:
        yield broker


@pytest.fixture
def kafka_topic(request: pytest.FixtureRequest) -> str:
    """Return a topic name that no other test has; the topic is created when it is first written to."""
    test = re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.name)
    return f"{test[:_LONGEST_NAME]}-{next(_numbers)}"
