"""Functions that make fixtures for pytest: brokers, clusters, settings of clients.

# conftest.py
    from kcompat.testing import factories

orders_broker = factories.kafka_broker(config={"num.partitions": 3})
    orders_client_config = factories.kafka_client_config("orders_broker")

The fixtures `kafka_broker`, `kafka_cluster` and `kafka_client_config` of the plugin are made by these
functions, too. A fixture of the same name in a conftest.py replaces the plugin's.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, TypeAlias

import pytest

from kcompat.testing.options import does_reset, external_address, port_of
from kcompat.testing.watch import WATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from kcompat import Broker, Cluster
    from kcompat.embedded.first_topics import Topics
    from kcompat.embedded.settings import Settings
    from kcompat.security.acls import Acl
    from kcompat.testing.client_config import ClientConfig
    from kcompat.testing.external import ExternalBroker

    Scope: TypeAlias = Literal["session", "package", "module", "class", "function"]


def kafka_broker(
    *,
    config: Settings | None = None,
    topics: Topics | None = None,
    port: int | None = None,
    tls: bool = False,
    users: Mapping[str, str] | None = None,
    acls: Sequence[Sequence[Acl]] | None = None,
    clock: str = "real",
    reset: bool | None = None,
    scope: Scope = "session",
) -> Callable[..., object]:
    """Return a fixture whose value is a running `kcompat.Broker`, or the external broker if there is one.

    The arguments are those of `Broker`. `config` takes precedence over the fixture `kafka_config`. Without
    `port`, a fixture named `kafka_broker` uses the port of --kcompat-port, any other fixture a free one. With
    `reset` (by default the value of --kcompat-reset), the broker is reset to its initial state before each
    test. On an external broker, `topics` have to exist already.
    """

    @pytest.fixture(scope=scope)
    def broker(request: pytest.FixtureRequest, kafka_config: Settings) -> Iterator[Broker | ExternalBroker]:
        """Yield a running broker for the tests of the scope; each worker of pytest-xdist has its own."""
        if (external := _external(request.config)) is not None:
            yield external
            return
        from kcompat import Broker

        chosen = port
        if chosen is None and request.fixturename == "kafka_broker":
            chosen = port_of(request.config, os.environ.get("PYTEST_XDIST_WORKER", ""))
        made = Broker(
            config={**kafka_config, **(config or {})},
            topics=topics,
            port=chosen or 0,
            tls=tls,
            users=users,
            acls=acls,
            clock=clock,
        )
        resets = does_reset(request.config) if reset is None else reset
        with made as started, _sharing(request, started, does_reset=resets):
            yield started

    return broker


def kafka_cluster(
    brokers: int = 3,
    *,
    config: Settings | None = None,
    topics: Topics | None = None,
    clock: str = "real",
    scope: Scope = "session",
) -> Callable[..., object]:
    """Return a fixture whose value is a running `kcompat.Cluster`, or the external one if there is one.

    The arguments are those of `Cluster`. `config` takes precedence over the fixture `kafka_config`.
    """

    @pytest.fixture(scope=scope)
    def cluster(request: pytest.FixtureRequest, kafka_config: Settings) -> Iterator[Cluster | ExternalBroker]:
        """Yield a running cluster for the tests of the scope; each worker of pytest-xdist has its own."""
        if (external := _external(request.config)) is not None:
            yield external
            return
        from kcompat import Cluster

        settings = {**kafka_config, **(config or {})}
        made = Cluster(brokers, config=settings, topics=topics, clock=clock)
        with made as started, _sharing(request, started, does_reset=False):
            yield started

    return cluster


def kafka_client_config(
    broker: str = "kafka_broker",
    *,
    library: str | None = None,
    user: str | None = None,
    scope: Scope = "function",
) -> Callable[..., object]:
    """Return a fixture whose value is a `ClientConfig`: the settings of a client of a broker.

    `broker` is the name of the broker's fixture. `library` is `confluent`, `kafka-python`, `aiokafka`, `java`
    or `spark`; by default the one that the test's module imports. `user` logs in; a broker with more than
    one user needs it.
    """

    @pytest.fixture(scope=scope)
    def client_config(request: pytest.FixtureRequest) -> ClientConfig:
        """Return the settings with which a client connects to the broker."""
        __tracebackhide__ = True  # an error is of the conftest.py's making
        from kcompat.testing.client_config import ClientConfig, library_of

        found = library or library_of(getattr(request, "module", None))
        value = request.getfixturevalue(broker)
        request.config.stash[WATCH].shared.prepare([broker])  # a test need not name the broker's fixture
        return ClientConfig(value, found, user)

    return client_config


def _sharing(
    request: pytest.FixtureRequest, brokers: Broker | Cluster, *, does_reset: bool
) -> AbstractContextManager[None]:
    shared = request.config.stash[WATCH].shared
    return shared.sharing(str(request.fixturename), brokers, does_reset=does_reset)


def _external(config: pytest.Config) -> ExternalBroker | None:
    address = external_address(config)
    if address is None:
        return None
    from kcompat.testing.external import ExternalBroker

    return ExternalBroker(address)
