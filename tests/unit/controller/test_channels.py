"""The queue of one broker: order, one request at a time, and faults that stay in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcompat.cluster.control_requests import LeaderAndIsr, Reply, StoppedPartition, StopReplica, UpdateConfigs
from kcompat.controller.channels import BrokerChannel, BrokerChannels, event_of_reply
from kcompat.controller.deletion import ReplicasStopped
from kcompat.controller.offline_replicas import ReplicasFailed
from kcompat.protocol.errors import ErrorCode

from .conftest import broker

if TYPE_CHECKING:
    from kcompat.cluster.control_requests import Answered, ControlRequest
    from kcompat.controller.state import RegisteredBroker

FAILED = Reply(partitions={("t", 1): ErrorCode.KAFKA_STORAGE_ERROR})
DONE = Reply()


class Port:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.given: list[tuple[ControlRequest, Answered]] = []
        self.is_closed = False

    def give(self, news: ControlRequest, answered: Answered) -> None:
        self.given.append((news, answered))

    def close(self) -> None:
        self.is_closed = True


def stop_all(*partitions: tuple[str, int], delete: bool = True) -> StopReplica:
    return StopReplica(1, 7, [StoppedPartition(*each, leader_epoch=-2, delete=delete) for each in partitions])


def stop(name: str) -> StopReplica:
    return stop_all((name, 0))


def note(answers: list[tuple[str, Reply]], name: str, reply: Reply) -> None:
    answers.append((name, reply))


def test_one_request_at_a_time_in_order() -> None:
    port = Port()
    answers: list[tuple[str, Reply]] = []
    channel = BrokerChannel(1, port)
    requests: dict[str, ControlRequest] = {
        "a": stop_all(("a", 0)),
        "b": UpdateConfigs({}),
        "c": stop_all(("c", 0)),
    }
    for name, news in requests.items():
        channel.put(news, partial(note, answers, name))
    assert [type(news) for news, _ in port.given] == [StopReplica]
    port.given[0][1](FAILED)
    assert [type(news) for news, _ in port.given] == [StopReplica, UpdateConfigs]
    port.given[1][1](DONE)
    port.given[2][1](DONE)
    assert answers == [("a", FAILED), ("b", DONE), ("c", DONE)]


def test_what_waits_goes_as_one_and_is_answered_as_one() -> None:
    port = Port()
    answers: list[tuple[str, Reply]] = []
    channel = BrokerChannel(1, port)
    for name in "abc":
        channel.put(stop(name), partial(note, answers, name))
    port.given[0][1](DONE)
    news, answered = port.given[1]
    assert isinstance(news, StopReplica)
    assert [each.topic for each in news.partitions] == ["b", "c"]
    answered(FAILED)
    assert answers == [("a", DONE), ("b", FAILED), ("c", FAILED)]
    assert len(port.given) == 2


def test_a_second_answer_is_none() -> None:
    port = Port()
    answers: list[Reply] = []
    channel = BrokerChannel(1, port)
    channel.put(stop("a"), answers.append)
    channel.put(stop("b"), answers.append)
    port.given[0][1](DONE)
    port.given[0][1](FAILED)
    assert answers == [DONE]
    assert len(port.given) == 2


def test_a_closed_channel_hears_nothing_and_sends_nothing() -> None:
    port = Port()
    answers: list[Reply] = []
    channel = BrokerChannel(1, port)
    channel.put(stop("a"), answers.append)
    channel.put(stop("b"), answers.append)
    channel.close()
    port.given[0][1](DONE)
    assert not answers
    assert len(port.given) == 1
    assert port.is_closed


class Broken:
    """Raises, before or after it has answered."""

    def __init__(self, *, answers_first: bool) -> None:
        self.answers_first = answers_first

    def give(self, _: ControlRequest, answered: Answered) -> None:
        if self.answers_first:
            answered(FAILED)
        raise ZeroDivisionError

    def close(self) -> None:
        raise AssertionError("nobody closes it")


def test_what_a_port_raises_fails_all_partitions_of_the_request() -> None:
    answers: list[Reply] = []
    channel = BrokerChannel(1, Broken(answers_first=False))
    channel.put(stop_all(("a", 0), ("b", 1)), answers.append)
    channel.put(UpdateConfigs({}), answers.append)
    error = ErrorCode.UNKNOWN_SERVER_ERROR
    assert answers == [Reply(partitions={("a", 0): error, ("b", 1): error}), DONE]


def test_what_was_answered_before_it_raised_counts() -> None:
    answers: list[Reply] = []
    BrokerChannel(1, Broken(answers_first=True)).put(stop("t"), answers.append)
    assert answers == [FAILED]


def test_a_long_queue_costs_no_stack() -> None:
    class Slow(Port):
        """Keeps its first request, and answers the others at once."""

        def give(self, news: ControlRequest, answered: Answered) -> None:
            super().give(news, answered)
            if len(self.given) > 1:
                answered(DONE)

    port = Slow()
    answers: list[Reply] = []
    channel = BrokerChannel(1, port)
    for _ in range(10_000):
        channel.put(stop("t"), answers.append)
    assert len(port.given) == 1
    port.given[0][1](DONE)
    assert len(answers) == 10_000


def test_events_of_answers() -> None:
    event = partial(event_of_reply, 2)
    roles = LeaderAndIsr(1, 7, [])
    assert event(roles, DONE) is None
    assert event(roles, FAILED) == ReplicasFailed(2, {("t", 1)})
    assert event(UpdateConfigs({}), DONE) is None
    partitions = [("t", 0), ("t", 1)]
    assert event(stop_all(*partitions), FAILED) == ReplicasStopped(2, partitions, {("t", 1)})
    assert event(stop_all(*partitions, delete=False), FAILED) is None


def test_a_replica_that_a_reassignment_took_away_is_no_answer_to_the_deletion_of_its_topic() -> None:
    """The broker may have other partitions of it, which it has not been told to delete."""
    moved = StoppedPartition("t", 0, leader_epoch=5, delete=True)
    assert event_of_reply(2, StopReplica(1, 7, [moved]), DONE) is None
    both = StopReplica(1, 7, [moved, StoppedPartition("u", 0, leader_epoch=-2, delete=True)])
    assert event_of_reply(2, both, DONE) == ReplicasStopped(2, [("u", 0)], set())


def test_a_request_that_is_refused_as_a_whole_has_deleted_nothing() -> None:
    refused = Reply(ErrorCode.STALE_CONTROLLER_EPOCH)
    assert event_of_reply(2, stop_all(("t", 0)), refused) == ReplicasStopped(2, [("t", 0)], {("t", 0)})
    assert event_of_reply(2, LeaderAndIsr(1, 7, []), refused) is None


def test_what_was_meant_for_a_former_process_of_a_broker_has_not_failed_there() -> None:
    stale = ErrorCode.STALE_BROKER_EPOCH
    assert event_of_reply(2, LeaderAndIsr(1, 7, []), Reply(stale, {("t", 1): stale})) is None


def test_a_replica_that_knows_a_newer_leader_epoch_has_not_failed() -> None:
    stale = Reply(partitions={("t", 0): ErrorCode.STALE_CONTROLLER_EPOCH})
    assert event_of_reply(2, LeaderAndIsr(1, 7, []), stale) is None
    both = Reply(partitions={**stale.partitions, **FAILED.partitions})
    assert event_of_reply(2, LeaderAndIsr(1, 7, []), both) == ReplicasFailed(2, {("t", 1)})


def test_a_broker_that_registers_anew_or_moves_gets_another_queue() -> None:
    ports: list[Port] = []

    def port_of(_: RegisteredBroker) -> Port:
        ports.append(Port())
        return ports[-1]

    channels = BrokerChannels(port_of)
    channels.follow({1: broker(1), 2: broker(2)})
    for _ in range(2):
        channels.put(2, stop("a"), lambda _: None)
    channels.follow({1: broker(1), 2: broker(2, epoch=6)})
    channels.put(2, stop("b"), lambda _: None)
    assert [port.is_closed for port in ports] == [False, True, False]
    assert [[news for news, _ in port.given] for port in ports] == [[], [stop("a")], [stop("b")]]
    moved = broker(1, rack="elsewhere")
    channels.follow({1: moved})
    channels.close()
    assert [port.is_closed for port in ports] == [True] * 4
