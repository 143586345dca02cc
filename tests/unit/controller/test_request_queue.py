"""The queue of requests to a broker: requests are folded where that changes nothing, and keep an order that
matters.
"""

from __future__ import annotations

from random import Random

import pytest

from kcompat.cluster.control_requests import (
    AssignedPartition,
    ControlRequest,
    LeaderAndIsr,
    Reply,
    Role,
    StoppedPartition,
    StopReplica,
    UpdateConfigs,
    UpdatedPartition,
    UpdateMetadata,
)
from kcompat.cluster.image import BrokerInfo, PartitionInfo
from kcompat.controller.request_queue import RequestQueue

ONE = b"1" * 16
TWO = b"2" * 16
BROKERS = {1: BrokerInfo(1, None, {})}


def roles(
    topic: str, epoch: int = 0, *, index: int = 0, new: bool = False, topic_id: bytes = ONE, term: int = 1
) -> LeaderAndIsr:
    assigned = AssignedPartition(topic, topic_id, index, Role(1, epoch, (1,), (1,)), is_new=new)
    return LeaderAndIsr(9, term, [assigned], [BrokerInfo(epoch, None, {})])


def picture(
    topic: str,
    epoch: int = 0,
    *,
    topic_id: bytes = ONE,
    brokers: dict[int, BrokerInfo] = BROKERS,
    term: int = 1,
) -> UpdateMetadata:
    shown = UpdatedPartition(topic, topic_id, 0, PartitionInfo(1, epoch, (1,), (1,)))
    return UpdateMetadata(9, term, brokers, [shown])


def stop(topic: str, epoch: int = 0, *, delete: bool = True, term: int = 1) -> StopReplica:
    return StopReplica(9, term, [StoppedPartition(topic, 0, epoch, delete)])


def sent(*news: ControlRequest) -> list[ControlRequest]:
    """Return the requests that are sent when these were queued while the broker did not answer."""
    queue = RequestQueue()
    for each in news:
        queue.put(each, lambda _: None)
    return [queue.pop().control for _ in range(len(queue))]


def kinds(*news: ControlRequest) -> list[str]:
    return [type(each).__name__[0] for each in sent(*news)]


def test_a_request_alone_is_sent_as_it_is() -> None:
    for news in (roles("a"), picture("a"), stop("a"), UpdateConfigs({})):
        (only,) = sent(news)
        assert type(only) is type(news)
        if not isinstance(only, UpdateConfigs) and not isinstance(news, UpdateConfigs):
            assert list(only.partitions) == list(news.partitions)
            assert (only.controller_id, only.controller_epoch) == (9, 1)


def test_the_last_role_of_a_partition_counts_and_it_stays_new() -> None:
    (only,) = sent(roles("a", 1, new=True), roles("b", 1), roles("a", 2))
    assert isinstance(only, LeaderAndIsr)
    assert [(each.topic, each.role.leader_epoch, each.is_new) for each in only.partitions] == [
        ("b", 1, False),
        ("a", 2, True),
    ]
    assert [leader.id for leader in only.live_leaders] == [1, 2]


def test_the_last_picture_of_brokers_counts_and_of_each_partition() -> None:
    (only,) = sent(picture("a", 1), picture("b", 1), picture("a", 2, brokers={}))
    assert isinstance(only, UpdateMetadata)
    assert only.brokers == {}
    assert {each.topic: each.info.leader_epoch for each in only.partitions} == {"a": 2, "b": 1}


def test_a_replica_that_was_to_be_deleted_once_is() -> None:
    (only,) = sent(stop("a", 1, delete=True), stop("a", 2, delete=False), stop("b", delete=False))
    assert isinstance(only, StopReplica)
    assert [(each.topic, each.leader_epoch, each.delete) for each in only.partitions] == [
        ("a", 2, True),
        ("b", 0, False),
    ]


@pytest.mark.parametrize(
    ("news", "order"),
    [
        ([roles("a"), picture("a"), roles("a", 1), picture("a", 1)], ["L", "U", "L"]),
        ([roles("a"), picture("a"), roles("b"), picture("b"), roles("c"), picture("c")], ["L", "U", "L"]),
        ([roles("a"), stop("a"), roles("a", 1)], ["L", "S", "L"]),
        ([roles("a"), stop("b"), roles("a", 1)], ["L", "S"]),
        ([stop("a"), picture("a"), stop("a", 1)], ["S", "U", "S"]),
        ([stop("a"), picture("b"), stop("c")], ["S", "U"]),
        ([picture("a"), stop("a"), picture("a", 1)], ["U", "S", "U"]),
        ([picture("a"), stop("b"), roles("b"), picture("c")], ["U", "S", "L"]),
        ([picture("a"), UpdateConfigs({}), picture("b")], ["U", "U", "U"]),
        ([roles("a"), roles("a", 1, term=2)], ["L", "L"]),
        ([picture("a"), picture("a", term=2)], ["U", "U"]),
        ([stop("a"), stop("a", term=2)], ["S", "S"]),
        ([roles("a"), roles("a", topic_id=TWO)], ["L", "L"]),
        ([picture("a"), picture("a", topic_id=TWO)], ["U", "U"]),
    ],
)
def test_only_what_may_overtakes(news: list[ControlRequest], order: list[str]) -> None:
    assert kinds(*news) == order


def test_topics_that_come_and_go_leave_a_few_requests() -> None:
    churn: list[ControlRequest] = []
    for number in range(200):
        name = f"topic-{number}"
        churn += [roles(name, new=True), picture(name), picture(name, 1), stop(name)]
    assert len(sent(*churn)) <= 5


def test_everybody_who_waits_hears_the_reply() -> None:
    queue = RequestQueue()
    heard: list[str] = []
    for name in ("first", "second"):
        queue.put(roles(name), lambda _, name=name: heard.append(name))  # type: ignore[misc]
    queue.pop().answered(Reply())
    assert heard == ["first", "second"]
    queue.put(roles("third"), lambda _: heard.append("third"))
    queue.clear()
    assert len(queue) == 0


@pytest.mark.parametrize("seed", range(30))
def test_a_broker_ends_up_where_it_would_have_without_folding(seed: int) -> None:
    """Roles, deletions and the picture of each partition, after all news one by one, and as they are sent."""
    chance = Random(seed)
    news: list[ControlRequest] = []
    for epoch in range(60):
        topic = f"t{chance.randrange(4)}"
        make = chance.choice((roles, picture, stop))
        news.append(make(topic, epoch))
    assert _end(sent(*news)) == _end(news)


def _end(news: list[ControlRequest]) -> tuple[dict[str, int], dict[str, int]]:
    """The epochs of the replicas that are there, and of those that are shown."""
    there: dict[str, int] = {}
    shown: dict[str, int] = {}
    for each in news:
        match each:
            case LeaderAndIsr(_, _, partitions):
                there.update({one.topic: one.role.leader_epoch for one in partitions})
            case UpdateMetadata(_, _, _, shows):
                shown.update({one.topic: one.info.leader_epoch for one in shows})
            case StopReplica(_, _, stops):
                for stopped in stops:
                    there.pop(stopped.topic, None)
    return there, shown
