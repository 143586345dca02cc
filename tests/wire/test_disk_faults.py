"""`broker.disk`: a disk that is full, fails or is slow, and what is left of it when the fault ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Broker
from kcompat.errors import UsageError
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.eventually import eventually
from support.raw_client import RawClient
from support.raw_requests import create_topic, fetch, produce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kcompat.embedded.fault import Fault

BATCH = build_batch([Record(0, 1, None, b"value")])
FAILED = ErrorCode.KAFKA_STORAGE_ERROR


def client_of(broker: Broker) -> RawClient:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return RawClient((host, int(port)))


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    return [tmp_path / "one", tmp_path / "two"]


@pytest.fixture
def broker(directories: list[Path]) -> Iterator[Broker]:
    """A broker with a topic t, whose partitions 0 and 1 have a directory each."""
    with Broker(config={"log.dirs": [str(each) for each in directories]}) as broker:
        with client_of(broker) as client:
            create_topic(client, "t", 2)
        yield broker


def append(client: RawClient) -> set[int]:
    return {produce(client, "t", BATCH, partition).error_code for partition in (0, 1)}


def test_a_full_disk_refuses_appends_until_the_fault_ends(broker: Broker) -> None:
    with client_of(broker) as client:
        assert append(client) == {0}
        with broker.disk.fill() as fault:
            assert append(client) == {FAILED}
            assert fetch(client, "t", 0).high_watermark == 1, "what is stored can be read"
            assert fault.struck >= 2
        assert append(client) == {0}


def test_one_of_two_disks_is_full(broker: Broker, directories: list[Path]) -> None:
    assert broker.disk.directories == [str(each) for each in directories]
    with client_of(broker) as client, broker.disk.fill(directories[0]):
        assert append(client) == {0, FAILED}
        broker.disk.clear()
        assert append(client) == {0}


def test_a_failed_disk_is_offline_until_the_next_start(broker: Broker, directories: list[Path]) -> None:
    with client_of(broker) as client:
        assert append(client) == {0}
        with broker.disk.fail(directories[1]) as fault:
            assert repr(fault).startswith(f"<fault: the disk of {directories[1]} fails, struck ")
            assert append(client) == {0, FAILED}
        assert append(client) == {0, FAILED}
    broker.stop()
    broker.start()
    with client_of(broker) as client:
        assert append(client) == {0}


def test_a_slow_disk_takes_its_time(broker: Broker) -> None:
    with client_of(broker) as client:
        with broker.disk.slow(50):
            began = time.monotonic()
            assert append(client) == {0}
            assert time.monotonic() - began >= 0.1
        assert append(client) == {0}


@pytest.mark.parametrize(
    "end",
    [
        lambda broker, _: broker.disk.clear(),
        lambda _, fault: fault.remove(),
        lambda broker, _: broker.stop(),
    ],
)
def test_nothing_waits_for_a_slow_disk_when_it_ends(
    broker: Broker, end: Callable[[Broker, Fault], None]
) -> None:
    with client_of(broker) as client:
        fault = broker.disk.slow(3_600_000)
        topic = CreateTopicsRequest.CreatableTopic(name="new", num_partitions=1, replication_factor=1)
        client.send(CreateTopicsRequest(topics=[topic]), 4)
        eventually(lambda: fault.struck > 0)
        end(broker, fault)
        assert fault.struck == 1
        assert repr(fault).endswith(", over>")


def test_a_failed_disk_counts_what_it_took_offline(broker: Broker, directories: list[Path]) -> None:
    with broker.disk.fail() as fault:
        assert fault.struck >= len(directories)


def test_a_broker_goes_back_when_its_disk_fails_no_longer(broker: Broker) -> None:
    with broker.disk.fail(), pytest.raises(UsageError, match="end the fault before the broker goes back"):
        broker.reset()
    broker.reset()
    with client_of(broker) as client:
        create_topic(client, "t", 2)
        assert append(client) == {0}


def test_another_directory_is_refused(broker: Broker, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a log directory: use one of "):
        broker.disk.fill(tmp_path)
    wrong: Any
    for wrong in (0, [], b"x", object()):
        with pytest.raises(UsageError, match="is not the name of a directory: use text or a path"):
            broker.disk.fail(wrong)
    with pytest.raises(UsageError, match="ms=0 is not a time"):
        broker.disk.slow(0)
