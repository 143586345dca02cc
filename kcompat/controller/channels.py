"""Ordered queues of control requests, one for each broker, and the events made from the replies.

A broker gets one request at a time, and the next once it has answered. A fault of one broker (its port
raises, answers twice or never) affects its own queue alone. Kafka's counterpart: `ControllerChannelManager`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.cluster.control_requests import LEADER_EPOCH_DURING_DELETION, LeaderAndIsr, Reply, StopReplica
from kcompat.controller.deletion import ReplicasStopped
from kcompat.controller.offline_replicas import ReplicasFailed
from kcompat.controller.request_queue import RequestQueue
from kcompat.controller.state import Decision, Event
from kcompat.logger_names import CONTROLLER
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.cluster.control_requests import Answered, BrokerPort, ControlRequest, StoppedPartition
    from kcompat.controller.request_queue import QueuedRequest
    from kcompat.controller.state import ControllerState, RegisteredBroker

_log = logging.getLogger(CONTROLLER)


class BrokerChannel:
    """The queue of one broker."""

    def __init__(self, broker_id: int, port: BrokerPort) -> None:
        self._broker_id = broker_id
        self._port = port
        self._waiting = RequestQueue()
        self._in_hand: QueuedRequest | None = None
        self._is_sending = False

    def put(self, control: ControlRequest, answered: Answered) -> None:
        """Queue a request; `answered` is called at most once, and never after `close`. The request may be
        folded into one that waits; the reply then answers both.
        """
        self._waiting.put(control, answered)
        self._send()

    def close(self) -> None:
        """Drop the waiting requests; ignore later replies."""
        self._waiting.clear()
        self._in_hand = None
        self._port.close()

    def _send(self) -> None:
        if self._is_sending:
            return  # a broker that answers at once: the loop below goes on
        self._is_sending = True
        while self._waiting and self._in_hand is None:
            self._in_hand = request = self._waiting.pop()
            control = request.control

            def settle(reply: Reply, request: QueuedRequest = request) -> None:
                self._settle(request, reply)

            try:
                self._port.give(control, settle)
            except Exception:
                _log.exception("broker %d raised on %s", self._broker_id, type(control).__name__)
                settle(Reply(partitions=dict.fromkeys(_partitions(control), ErrorCode.UNKNOWN_SERVER_ERROR)))
        self._is_sending = False

    def _settle(self, request: QueuedRequest, reply: Reply) -> None:
        if self._in_hand is request:
            self._in_hand = None
            request.answered(reply)
            self._send()


class BrokerChannels:
    """The queues of all registered brokers, one for each broker epoch."""

    def __init__(self, port_of: Callable[[RegisteredBroker], BrokerPort]) -> None:
        """Start without channels; `port_of` returns the port to a registered broker."""
        self._port_of = port_of
        self._channels: dict[int, tuple[RegisteredBroker, BrokerChannel]] = {}

    def follow(self, brokers: Mapping[int, RegisteredBroker]) -> None:
        """Keep a queue for each of these brokers, and no others. A broker that has registered anew, or has
        other addresses, gets a new queue: its new process knows nothing of earlier requests.
        """
        for broker_id, (known, channel) in list(self._channels.items()):
            if brokers.get(broker_id) != known:
                del self._channels[broker_id]
                channel.close()
        for broker_id, broker in brokers.items():
            if broker_id not in self._channels:
                self._channels[broker_id] = broker, BrokerChannel(broker_id, self._port_of(broker))

    def put(self, broker_id: int, control: ControlRequest, answered: Answered) -> None:
        """Queue a request to a broker that is followed."""
        self._channels[broker_id][1].put(control, answered)

    def close(self) -> None:
        """Close all queues."""
        self.follow({})


def failures(reply: Reply) -> dict[tuple[str, int], ErrorCode]:
    """Return the partitions that failed. There are none if the whole request was refused: it was meant for a
    former process of the broker, or came from a former controller. Replicas that refuse a stale leader epoch
    do not count either: they have that role or a newer one, as a new controller sends all roles again.
    """
    if reply.error:
        return {}
    stale = ErrorCode.STALE_CONTROLLER_EPOCH
    return {key: error for key, error in reply.partitions.items() if error != stale}


class OfRegistration(Struct, frozen=True):
    """An event about one registration of a broker. It is dropped when the broker has registered anew since:
    the new process got its roles anew, and failures of the former one do not concern it.
    """

    broker_id: int
    broker_epoch: int
    event: Event[None]

    def decide(self, state: ControllerState) -> Decision[None]:
        """Return the decision on the event, or no change if the broker has registered anew since."""
        broker = state.brokers.get(self.broker_id)
        if broker is None or broker.epoch != self.broker_epoch:
            return Decision(state, None)
        return self.event.decide(state)

    def refused(self, error: ErrorCode) -> None:
        """Do nothing: no caller waits for an answer."""


def event_of_reply(broker_id: int, control: ControlRequest, reply: Reply) -> Event[None] | None:
    """Return the event that a broker's reply makes for the controller; None if no decision is needed."""
    if isinstance(control, StopReplica):
        deleted = [(each.topic, each.index) for each in control.partitions if _is_of_deleted_topic(each)]
        if not deleted:
            return None
        return ReplicasStopped(broker_id, deleted, set(deleted) if reply.error else reply.partitions.keys())
    failed = failures(reply)
    return ReplicasFailed(broker_id, failed.keys()) if failed else None


def _is_of_deleted_topic(stopped: StoppedPartition) -> bool:
    """Return whether a log is deleted because its whole topic is. A replica moved by a reassignment is
    deleted too, but with the leader epoch of its partition; that ends no deletion of a topic.
    """
    return stopped.delete and stopped.leader_epoch == LEADER_EPOCH_DURING_DELETION


def _partitions(control: ControlRequest) -> list[tuple[str, int]]:
    if isinstance(control, LeaderAndIsr | StopReplica):
        return [(partition.topic, partition.index) for partition in control.partitions]
    return []
