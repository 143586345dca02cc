"""The queue of one broker: order, one request at a time, and faults that stay in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.cluster.news import LeaderAndIsr, StopReplica, UpdateConfigs
from kcompat.controller.channels import Channel, event_of_answer
from kcompat.controller.deletion import ReplicasStopped
from kcompat.controller.leadership import ReplicasFailed
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kcompat.cluster.news import News
    from kcompat.controller.channels import Answered, PartitionErrors

FAILED = {("t", 1): ErrorCode.KAFKA_STORAGE_ERROR}


class Port:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.given: list[tuple[News, Answered]] = []

    def give(self, news: News, answered: Answered) -> None:
        self.given.append((news, answered))


def stop(name: str) -> StopReplica:
    return StopReplica([(name, 0)])


def test_one_request_at_a_time_in_order() -> None:
    port = Port()
    answers: list[tuple[str, PartitionErrors]] = []
    channel = Channel(1, port)
    for name in "abc":
        channel.put(stop(name), lambda failed, name=name: answers.append((name, failed)))
    assert [news for news, _ in port.given] == [stop("a")]
    port.given[0][1](FAILED)
    assert [news for news, _ in port.given] == [stop("a"), stop("b")]
    port.given[1][1]({})
    port.given[2][1]({})
    assert answers == [("a", FAILED), ("b", {}), ("c", {})]


def test_a_second_answer_is_none() -> None:
    port = Port()
    answers: list[PartitionErrors] = []
    channel = Channel(1, port)
    channel.put(stop("a"), answers.append)
    channel.put(stop("b"), answers.append)
    port.given[0][1]({})
    port.given[0][1](FAILED)
    assert answers == [{}]
    assert len(port.given) == 2


def test_a_closed_channel_hears_nothing_and_sends_nothing() -> None:
    port = Port()
    answers: list[PartitionErrors] = []
    channel = Channel(1, port)
    channel.put(stop("a"), answers.append)
    channel.put(stop("b"), answers.append)
    channel.close()
    port.given[0][1]({})
    assert not answers
    assert len(port.given) == 1


class Broken:
    """Raises, before or after it has answered."""

    def __init__(self, *, answers_first: bool) -> None:
        self.answers_first = answers_first

    def give(self, _: News, answered: Answered) -> None:
        if self.answers_first:
            answered(FAILED)
        raise ZeroDivisionError


def test_what_a_port_raises_fails_all_partitions_of_the_request() -> None:
    answers: list[PartitionErrors] = []
    channel = Channel(1, Broken(answers_first=False))
    channel.put(StopReplica([("a", 0), ("b", 1)]), answers.append)
    channel.put(UpdateConfigs({}), answers.append)
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    assert answers == [{("a", 0): error, ("b", 1): error}, {}]


def test_what_was_answered_before_it_raised_counts() -> None:
    answers: list[PartitionErrors] = []
    Channel(1, Broken(answers_first=True)).put(stop("t"), answers.append)
    assert answers == [FAILED]


def test_a_long_queue_costs_no_stack() -> None:
    class Slow(Port):
        """Keeps its first request, and answers the others at once."""

        def give(self, news: News, answered: Answered) -> None:
            super().give(news, answered)
            if len(self.given) > 1:
                answered({})

    port = Slow()
    answers: list[PartitionErrors] = []
    channel = Channel(1, port)
    for _ in range(10_000):
        channel.put(stop("t"), answers.append)
    assert len(port.given) == 1
    port.given[0][1]({})
    assert len(answers) == 10_000


def test_events_of_answers() -> None:
    event = partial(event_of_answer, 2)
    assert event(LeaderAndIsr([]), {}) is None
    assert event(LeaderAndIsr([]), FAILED) == ReplicasFailed(2, {("t", 1)})
    assert event(UpdateConfigs({}), {}) is None
    partitions = [("t", 0), ("t", 1)]
    assert event(StopReplica(partitions), FAILED) == ReplicasStopped(2, partitions, {("t", 1)})
