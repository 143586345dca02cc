"""The nodes that are read of a Kafka's ZooKeeper, and those that the metadata store gets."""

from __future__ import annotations

import pytest

from kcompat.migration.hand_over import HandOverRefusedError
from kcompat.migration.take_over import ReadNode, registration_from, to_read_below
from kcompat.store.interface import name_of, parent_of

NODES = {
    "/zookeeper/quota": b"",
    "/consumers/g/offsets": b"5",
    "/hbase": b"x",
    "/controller_epoch": b"4",
    "/cluster/id": b'{"version":"1","id":"theirs"}',
    "/brokers/ids": b"",
    "/brokers/topics/a/partitions/0/state": b"{}",
    "/config/changes/config_change_0000000007": b"{}",
    "/config/topics/a": b'{"version":1,"config":{"retention.ms":"5"}}',
    "/kafka-acl/Topic/a": b"{}",
}


def zookeeper(nodes: dict[str, bytes]) -> dict[str, bytes]:
    """These nodes and their parents, by paths below the root, which is the empty one."""
    every = {"": b""}
    for path, data in nodes.items():
        parts = path.split("/")
        every |= {"/".join(parts[:length]): b"" for length in range(2, len(parts))}
        every[path] = data
    return every


def read(nodes: dict[str, bytes]) -> dict[str, ReadNode]:
    """All that is read of a ZooKeeper with these nodes."""
    every = zookeeper(nodes)
    found: dict[str, ReadNode] = {}
    paths = [""]
    while paths:
        path = paths.pop()
        children = [name_of(other) for other in every if other and parent_of(other) == (path or "/")]
        found[path] = ReadNode(every[path], children)
        paths += to_read_below(path, found[path])
    return found


def test_what_the_store_gets() -> None:
    nodes = registration_from(read(NODES)).nodes
    assert list(nodes) == [
        "/brokers",
        "/brokers/ids",
        "/brokers/topics",
        "/brokers/topics/a",
        "/brokers/topics/a/partitions",
        "/brokers/topics/a/partitions/0",
        "/brokers/topics/a/partitions/0/state",
        "/cluster",
        "/cluster/id",
        "/config",
        "/config/changes",
        "/config/topics",
        "/config/topics/a",
        "/controller_epoch",
        "/kafka-acl",
        "/kafka-acl/Topic",
        "/kafka-acl/Topic/a",
    ]
    assert nodes["/config/topics/a"] == NODES["/config/topics/a"]


@pytest.mark.parametrize(
    ("nodes", "complaint"),
    [
        ({"/hbase": b"x"}, "no Kafka has kept its metadata there"),
        (NODES | {"/brokers/ids/3": b"{}"}, "broker 3 is registered there"),
    ],
)
def test_what_is_not_taken(nodes: dict[str, bytes], complaint: str) -> None:
    with pytest.raises(HandOverRefusedError, match=complaint):
        registration_from(read(nodes))
