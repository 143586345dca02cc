"""`kcompat.Broker`: a broker inside this process, and what a test may do with it without thinking."""

from __future__ import annotations

import socket
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker
from kcompat.config.errors import ConfigError
from kcompat.net.listener import ListenerError
from kcompat.protocol.messages.metadata import MetadataRequest
from kcompat.testing.raw_client import RawClient

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def partitions(broker: Broker, topic: str) -> int:
    """How many partitions a topic has that is made by asking for it."""
    host, _, port = broker.bootstrap_servers.rpartition(":")
    with RawClient((host.strip("[]"), int(port))) as client:
        wanted = MetadataRequest.MetadataRequestTopic(name=topic)
        response: Any = client.call(MetadataRequest(topics=[wanted], allow_auto_topic_creation=True), 12)
    (row,) = response.topics
    return len(row.partitions)


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def test_two_at_once(tmp_path: Path) -> None:
    with Broker(config={"num.partitions": "2"}) as one, Broker(config={"num.partitions": "3"}) as other:
        assert (partitions(one, "t"), partitions(other, "t")) == (2, 3)
    assert list(tmp_path.iterdir()) == []


def test_values_need_not_be_text() -> None:
    with Broker(config={"num.partitions": 2, "log.preallocate": True}) as broker:
        assert partitions(broker, "t") == 2


def test_a_broker_that_never_starts_leaves_nothing(tmp_path: Path) -> None:
    Broker().stop()
    with pytest.raises(ConfigError, match="zero"):
        Broker(config={"num.partitions": "zero"})
    assert list(tmp_path.iterdir()) == []


def test_start_again_after_a_stop(tmp_path: Path) -> None:
    broker = Broker(config={"num.partitions": "2"})
    for _ in range(2):
        with broker:
            assert partitions(broker, "t") == 2
    assert list(tmp_path.iterdir()) == []


def test_a_start_that_failed_can_be_stopped_and_tried_again(tmp_path: Path) -> None:
    with Broker() as first:
        port = int(first.bootstrap_servers.rpartition(":")[2])
        second = Broker(port=port)
        with pytest.raises(ListenerError, match="already in use"):
            second.start()
        second.stop()
    with second:
        assert partitions(second, "t") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_ipv6_address_is_written_as_clients_take_it() -> None:
    if not has_ipv6():
        pytest.skip("no IPv6 on this machine")
    with Broker(host="::1") as broker:
        assert broker.bootstrap_servers.startswith("[::1]:")
        assert partitions(broker, "t") == 1
