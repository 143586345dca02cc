"""The broker under test, and what the tests of all client families share.

``pytest interop-tests`` plays everything to kcompat, ``pytest interop-tests --target=kafka`` to a real
Kafka 3.9.2: a test that fails there is wrong about Kafka.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import pytest
from kcompat_broker import KcompatBroker
from real_kafka import RealKafka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from broker_process import BrokerProcess

_numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--target",
        choices=("kcompat", "kafka"),
        default="kcompat",
        help="the broker that the clients talk to",
    )


@pytest.fixture(scope="session")
def new_broker(request: pytest.FixtureRequest) -> Callable[..., BrokerProcess]:
    """Makes a broker of the kind under test, not yet started."""
    return KcompatBroker if request.config.getoption("--target") == "kcompat" else RealKafka


@pytest.fixture(scope="session")
def session_broker(new_broker: Callable[..., BrokerProcess]) -> Iterator[BrokerProcess]:
    with new_broker() as broker:
        yield broker


@pytest.fixture
def broker(session_broker: BrokerProcess) -> Iterator[BrokerProcess]:
    """The running broker; a test during which ours ends or logs a traceback has failed."""
    said = session_broker.log_path.stat().st_size
    yield session_broker
    assert session_broker.is_running(), session_broker.log_tail()
    with session_broker.log_path.open("rb") as log:
        log.seek(said)
        news = log.read().decode(errors="replace")
    assert isinstance(session_broker, RealKafka) or "Traceback" not in news, news[-8000:]


@pytest.fixture
def name() -> str:
    """A name for a topic or a group that nothing else uses."""
    return f"t-{os.getpid()}-{next(_numbers)}"
