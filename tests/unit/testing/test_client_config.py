"""The client library for which a test gets its settings."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from kcompat.errors import UsageError
from kcompat.testing.client_config import ClientConfig, library_of
from kcompat.testing.external import ExternalBroker


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of a test, in a process that has imported no client library."""
    for name in ("confluent_kafka", "kafka", "aiokafka"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return ModuleType("test_orders")


def test_a_library_that_the_module_imports(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", ModuleType("confluent_kafka"))
    module.__dict__["KafkaProducer"] = type("KafkaProducer", (), {"__module__": "kafka.producer.kafka"})
    assert library_of(module) == "kafka-python"
    module.__dict__["aio"] = ModuleType("aiokafka")
    assert library_of(module) == "kafka-python"
    del module.__dict__["KafkaProducer"]
    assert library_of(module) == "aiokafka"


def test_a_library_that_something_else_imported(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert library_of(module) == library_of(None) == "confluent"
    monkeypatch.setitem(sys.modules, "aiokafka", ModuleType("aiokafka"))
    assert library_of(module) == library_of(None) == "aiokafka"


def test_settings_for_each_library() -> None:
    config = ClientConfig(ExternalBroker("a:1"), "kafka-python")
    assert config == {"bootstrap_servers": "a:1", "security_protocol": "PLAINTEXT"} == config()
    assert config("confluent") == {"bootstrap.servers": "a:1", "security.protocol": "PLAINTEXT"}
    with pytest.raises(UsageError, match="the settings of 'x' are not known: use one of confluent, "):
        config("x")


def test_the_user_of_a_dictionary_is_that_of_each_library() -> None:
    class Secured:
        def client_config(self, user: str | None = None, *, library: str = "") -> dict[str, object]:
            return {"user": user, "library": library}

    config = ClientConfig(Secured(), "confluent", "alice")
    assert config == {"user": "alice", "library": "confluent"}
    assert config("aiokafka") == {"user": "alice", "library": "aiokafka"}
    assert config(user="bob") == {"user": "bob", "library": "confluent"}
