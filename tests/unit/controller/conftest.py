"""A controller's state to decide on, without a store; and where a store may be."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.cluster.image import BrokerInfo
from kcompat.config.broker import BrokerConfig
from kcompat.controller.state import ControlledPartition, ControlledTopic, ControllerState, RegisteredBroker

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.cluster.control_requests import ControlRequest
    from kcompat.controller.state import Decision


def broker(broker_id: int, rack: str | None = None, epoch: int = 5) -> RegisteredBroker:
    info = BrokerInfo(broker_id, rack, {"PLAINTEXT": (f"host{broker_id}", 9092)})
    return RegisteredBroker(info, epoch)


def state_of(*broker_ids: int) -> ControllerState:
    brokers = {broker_id: broker(broker_id) for broker_id in broker_ids}
    return ControllerState(broker_id=1, epoch=7, epoch_version=3, brokers=brokers)


@pytest.fixture
def one() -> ControllerState:
    return state_of(1)


@pytest.fixture
def three() -> ControllerState:
    return state_of(1, 2, 3)


@pytest.fixture
def random() -> Random:
    return Random(1)


@pytest.fixture
def config() -> BrokerConfig:
    return BrokerConfig({"num.partitions": "4", "default.replication.factor": "1"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metadata.db"


def with_partitions(state: ControllerState, *partitions: ControlledPartition) -> ControllerState:
    """This state with a topic "t" that has these partitions."""
    return state.with_topics([ControlledTopic("t", b"t" * 16, partitions)])


def told(decision: Decision[Any], broker_id: int) -> list[ControlRequest]:
    """Return the requests of a decision to one broker, in order."""
    return [news for each, news in decision.requests if each == broker_id]
