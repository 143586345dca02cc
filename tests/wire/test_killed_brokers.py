"""Clients are told of a broker that was killed, from its end until that of its session."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from kcompat import Cluster
from kcompat.protocol.messages.describe_cluster import DescribeClusterRequest
from kcompat.protocol.messages.metadata import MetadataRequest
from support.cluster_asking import GROUP, ask, coordinator, create, until

if TYPE_CHECKING:
    from collections.abc import Iterator

SESSION_S = 5
TOPIC = "t"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(3, config={"zookeeper.session.timeout.ms": SESSION_S * 1000}) as started:
        yield started


def metadata(cluster: Cluster, broker_id: int) -> Any:
    return ask(cluster, broker_id, MetadataRequest(topics=None), 9)


def listed(cluster: Cluster, broker_id: int) -> list[int]:
    """The brokers that one of them lists in Metadata."""
    return sorted(each.node_id for each in metadata(cluster, broker_id).brokers)


def described(cluster: Cluster, broker_id: int) -> list[int]:
    """The brokers that one of them lists in DescribeCluster."""
    rows = ask(cluster, broker_id, DescribeClusterRequest(), 0).brokers
    return sorted(each.broker_id for each in rows)


@pytest.mark.parametrize("is_controller", [True, False])
def test_a_killed_broker_leads_nothing_and_is_listed_until_its_session_ends(
    cluster: Cluster, is_controller: bool
) -> None:
    controller = metadata(cluster, 0).controller_id
    killed = controller if is_controller else (controller + 1) % 3
    create(cluster, killed, TOPIC)
    cluster.brokers[killed].kill()
    begun = time.monotonic()
    others = [each for each in (0, 1, 2) if each != killed]
    for broker_id in others:
        partition = until(lambda broker_id=broker_id: led_by_another(cluster, broker_id, killed), "led")
        assert killed not in partition.isr_nodes
        assert partition.offline_replicas == [killed]
        assert listed(cluster, broker_id) == described(cluster, broker_id) == [0, 1, 2]
    assert time.monotonic() - begun < SESSION_S
    for broker_id in others:
        until(lambda broker_id=broker_id: listed(cluster, broker_id) == others or None, "it is gone")
        assert described(cluster, broker_id) == others
    assert time.monotonic() - begun > SESSION_S - 0.5
    cluster.brokers[killed].start()
    assert {str(listed(cluster, each.id)) for each in cluster.brokers} == {"[0, 1, 2]"}


def led_by_another(cluster: Cluster, broker_id: int, killed: int) -> Any:
    """The partition, as one broker shows it, once it is led by another than the killed one."""
    partitions = [each for topic in metadata(cluster, broker_id).topics for each in topic.partitions]
    led = [each for each in partitions if each.leader_id not in (killed, -1)]
    return led[0] if led else None


def test_a_broker_that_stops_in_peace_is_listed_no_more(cluster: Cluster) -> None:
    cluster.brokers[2].stop()
    begun = time.monotonic()
    for broker_id in (0, 1):
        until(lambda broker_id=broker_id: listed(cluster, broker_id) == [0, 1] or None, "it is gone")
    assert time.monotonic() - begun < SESSION_S / 2


def test_a_killed_coordinator_is_named_no_more(cluster: Cluster) -> None:
    """Asked at once, when the controller cannot have detected the failure yet."""
    first = until(lambda: coordinator(cluster, 0, GROUP, "g"), "there is a coordinator")
    cluster.brokers[first].kill()
    begun = time.monotonic()
    for broker_id in (each for each in (0, 1, 2) if each != first):
        answers: list[int | None] = []
        until(lambda found=answers, one=broker_id: ask_once(cluster, one, found), "another coordinates")
        assert first not in answers
    assert time.monotonic() - begun < SESSION_S


def ask_once(cluster: Cluster, broker_id: int, answers: list[int | None]) -> int | None:
    """Return the coordinator of the group, as one broker says; note the answer."""
    answers.append(coordinator(cluster, broker_id, GROUP, "g"))
    return answers[-1]
