"""The brokers of a `kcompat.Cluster`, asked one by one with raw requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_topics import CreateTopicsRequest
from kcompat.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from support.eventually import eventually
from support.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat import Cluster

PATIENCE_S = 60
GROUP, SHARE = 0, 2
"""Kinds of keys that have coordinators."""
NOT_YET = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)


def ask(cluster: Cluster, broker_id: int, request: Any, version: int) -> Any:
    """The answer of one broker."""
    host, port = cluster.brokers[broker_id].bootstrap_servers.rsplit(":", 1)
    with RawClient((host, int(port)), PATIENCE_S) as client:
        return client.call(request, version)


def ask_coordinator(cluster: Cluster, broker_id: int, request: Any, version: int) -> Any:
    """Return a coordinator's answer; None from a broker that does not know yet that it is one, or loads."""
    answer = ask(cluster, broker_id, request, version)
    return None if answer.error_code in NOT_YET else answer


def until(found: Callable[[], Any], what: str) -> Any:
    """Call `found` until it returns anything but None, which may be 0, and return that."""
    values: list[Any] = eventually(lambda: [] if (value := found()) is None else [value], what, PATIENCE_S)
    return values[0]


def coordinator(cluster: Cluster, broker_id: int, kind: int, key: str) -> int | None:
    """Return the coordinator of a key, as one broker knows it; None while there is none."""
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
    (row,) = ask(cluster, broker_id, request, 6).coordinators
    return None if row.error_code else int(row.node_id)


def create(cluster: Cluster, leader: int, topic: str, partitions: int = 1) -> bytes:
    """Make a topic with a replica on every broker, led by this one; its id."""
    others = [each.id for each in cluster.brokers if each.id != leader]
    placed = [
        CreateTopicsRequest.CreatableReplicaAssignment(index, [leader, *others])
        for index in range(partitions)
    ]
    wanted = CreateTopicsRequest.CreatableTopic(topic, -1, -1, assignments=placed)
    controller = ask(cluster, leader, MetadataRequest(topics=None), 9).controller_id
    (row,) = ask(cluster, controller, CreateTopicsRequest([wanted], 10_000), 7).topics
    assert row.error_code == 0, row
    cluster.wait_until_in_sync(PATIENCE_S)
    return bytes(row.topic_id)
