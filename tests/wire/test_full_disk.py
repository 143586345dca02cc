"""A disk that fills up: producers are told, readers are served, and with space back all goes on.

The broker lives in a mount namespace of its own, where its data directory is a small memory file system.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcompat.protocol.errors import ErrorCode
from kcompat.records.batch import build_batch
from kcompat.records.record import Record
from support.kcompat_broker import KcompatBroker
from support.raw_client import RawClient
from support.raw_requests import (
    commit_offset,
    committed_offset,
    create_topic,
    describe_topic,
    find_coordinator,
    produce,
    read_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1 << 20
SIZE = 12 * MIB
IN_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
MOUNT = f'mount -t tmpfs -o size={SIZE} tmpfs "$0" && exec "$@"'


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(
        [*IN_NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False
    )
    return tried.returncode == 0


class BrokerOnSmallDisk(KcompatBroker):
    """Our broker, with `SIZE` bytes to store in."""

    def command(self) -> list[str]:
        data = self.home / "data"
        data.mkdir(exist_ok=True)
        return [*IN_NAMESPACE, "sh", "-c", MOUNT, str(data), *super().command()]

    @property
    def ballast(self) -> Path:
        """A file on the broker's disk, as this process sees it."""
        return Path(f"/proc/{self.pid}/root{self.home}/data/ballast")


@pytest.fixture
def broker() -> Iterator[BrokerOnSmallDisk]:
    if not can_mount():
        pytest.skip("this system lets nobody mount a file system in a namespace of their own")
    with BrokerOnSmallDisk({"offsets.topic.num.partitions": "1"}) as broker:
        yield broker


def values(client: RawClient) -> list[bytes | None]:
    records = list(read_all(client, "t"))
    assert [record.offset for record in records] == list(range(len(records)))
    return [record.value for record in records]


def fill(client: RawClient, size: int) -> list[bytes]:
    """Produce records of `size` bytes until there is no room for one; those that were acknowledged."""
    taken = []
    for number in range(100_000):
        value = b"%d-%d" % (size, number) + b"." * size
        answer = produce(client, "t", build_batch([Record(0, -1, None, value)]))
        if answer.error_code:
            break
        taken.append(value)
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    return taken


def test_a_full_disk_refuses_writes_and_recovers(broker: BrokerOnSmallDisk) -> None:
    with RawClient(("127.0.0.1", broker.port)) as client:
        assert create_topic(client, "t") == 0
        assert find_coordinator(client, "g") == 0
        assert commit_offset(client, "g", "t", 1) == 0
        broker.ballast.write_bytes(bytes(4 * MIB))

        acknowledged: list[bytes | None] = []
        for size in (100_000, 10_000, 1_000, 100, 1):
            acknowledged += fill(client, size)
        assert 10 < len(acknowledged) < SIZE / 1000

        assert values(client) == acknowledged
        assert describe_topic(client, "t").error_code == 0
        while not commit_offset(client, "g", "t", 1, metadata="." * 4000):
            pass
        assert committed_offset(client, "g", "t").committed_offset == 1
        unlucky = create_topic(client, "unlucky")
        assert unlucky in (0, ErrorCode.KAFKA_STORAGE_ERROR)

        broker.ballast.unlink()
        value = b"after" + b"." * 100_000
        assert produce(client, "t", build_batch([Record(0, -1, None, value)])).error_code == 0
        assert values(client) == [*acknowledged, value]
        assert commit_offset(client, "g", "t", 2) == 0
        assert committed_offset(client, "g", "t").committed_offset == 2
        assert create_topic(client, "another") == 0
        if unlucky:
            assert create_topic(client, "unlucky") == 0
        assert describe_topic(client, "unlucky").error_code == 0
        batch = build_batch([Record(0, -1, None, b"at last")])
        assert produce(client, "unlucky", batch).error_code == 0
    said = broker.log_path.read_text()
    assert "a fault in" not in said
    assert "kcompat.api.dispatcher" not in said
