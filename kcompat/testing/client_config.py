"""Settings of clients for the library that a test uses."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Final, Protocol

LIBRARIES: Final = {"confluent_kafka": "confluent", "kafka": "kafka-python", "aiokafka": "aiokafka"}
"""Client libraries by the names of their packages. If a test uses several, the first one counts."""


class Configured(Protocol):
    """A broker, or several, with a method for the settings of clients."""

    def client_config(self, user: str | None = None, *, library: str = ...) -> dict[str, object]:
        """Return the settings with which a client of a library connects, and logs in as a user."""


class ClientConfig(dict[str, object]):
    """The settings with which a client of one library connects, as a dictionary for its constructor.

        Producer(kafka_client_config)
        KafkaProducer(**kafka_client_config)

    Called, it returns the settings for another library or a user: `kafka_client_config("aiokafka")`.
    """

    def __init__(self, broker: Configured, library: str, user: str | None = None) -> None:
        __tracebackhide__ = True
        super().__init__(broker.client_config(user, library=library))
        self._broker = broker
        self._library = library
        self._user = user

    def __call__(self, library: str | None = None, *, user: str | None = None) -> dict[str, object]:
        """Return the settings for a library and for a user that logs in, by default those of this dictionary.
        Raises UsageError.
        """
        return self._broker.client_config(user or self._user, library=library or self._library)


def library_of(module: ModuleType | None) -> str:
    """Return the client library that a module uses, else one that is imported, else `confluent`."""
    used = {_root(value) for value in vars(module).values()} if module is not None else set()
    for packages in (used, sys.modules):
        for package, library in LIBRARIES.items():
            if package in packages:
                return library
    return "confluent"


def _root(value: object) -> str:
    """Return the package in which a value of a module was defined."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return name.partition(".")[0] if isinstance(name, str) else ""
