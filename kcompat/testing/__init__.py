"""Help for tests: a plugin of pytest, a test case of `unittest`, and a container.

If kcompat is installed, pytest has the fixtures of `kcompat.testing.plugin`:

def test_orders(kafka_broker, kafka_topic):
        producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers)
        producer.send(kafka_topic, b"order").get()

`factories` makes more fixtures like these. `KafkaTestCase` has a broker for tests of `unittest`.
`KcompatContainer` starts the container image; it needs the extra `testcontainers`.

Nothing is imported before it is used, pytest included.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

    from kcompat.testing import factories as factories
    from kcompat.testing.case import KafkaTestCase as KafkaTestCase
    from kcompat.testing.container import KcompatContainer as KcompatContainer
    from kcompat.testing.external import ExternalBroker as ExternalBroker

_MODULES: Final = {
    "ExternalBroker": "kcompat.testing.external",
    "KafkaTestCase": "kcompat.testing.case",
    "KcompatContainer": "kcompat.testing.container",
}
PLUGIN: Final = "kcompat"
"""Name of the plugin for pytest's option `-p`, which is also the name of its entry point."""


def __getattr__(name: str) -> object:
    if name == "factories":
        return import_module("kcompat.testing.factories")
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Load the plugin if `-p` or `pytest_plugins` names this package, and the entry point was not loaded."""
    if not pluginmanager.has_plugin(PLUGIN):
        pluginmanager.register(import_module("kcompat.testing.plugin"), PLUGIN)
