"""Port of the controller to a broker in another process: control requests sent as messages until answered.

A live broker gets each request once, one after another. A request without an answer is sent again every 100
ms until the broker answers or the port is closed; the controller closes it when the broker's registration
goes. A broker that has registered anew answers STALE_BROKER_EPOCH to requests meant for its former process.
Kafka's counterpart: `RequestSendThread`.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kcompat.cluster.control_requests import LeaderAndIsr, Reply, StopReplica, UpdateMetadata
from kcompat.faults import contained
from kcompat.peer import leader_and_isr, stop_replica, update_metadata
from kcompat.peer.errors import PeerError, PeerFault
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.clock import Clock, Timer
    from kcompat.cluster.control_requests import Answered, ControlRequest
    from kcompat.cluster.image import BrokerInfo
    from kcompat.config.broker import ConfigFeed
    from kcompat.peer.peers import Peers
    from kcompat.protocol.message import Message

logger = logging.getLogger(__name__)

RETRY_MS: Final = 100
"""Pause in ms before a request is sent again."""


class RemoteBroker:
    """`BrokerPort` to one registration of a broker in another process."""

    def __init__(
        self, broker: BrokerInfo, broker_epoch: int, peers: Peers, config: ConfigFeed, clock: Clock
    ) -> None:
        """Make the port to one registration; `broker_epoch` is the registration's czxid."""
        self._id = broker.id
        self._epoch = broker_epoch
        self._client = peers.to(broker, "controller")
        self._config = config
        self._clock = clock
        self._retry: Timer | None = None
        self._is_closed = False

    def give(self, control: ControlRequest, answered: Answered) -> None:
        """Send a control request, as `BrokerPort` specifies. One request is given at a time. Changed configs
        are not sent: brokers read them from the store.
        """
        match control:
            case LeaderAndIsr():
                self._send(
                    ApiKey.LEADER_AND_ISR,
                    lambda version: leader_and_isr.request_of(control, version, self._epoch, self._listener),
                    lambda response: answered(leader_and_isr.reply_of(response, control)),
                    answered,
                )
            case UpdateMetadata():
                self._send(
                    ApiKey.UPDATE_METADATA,
                    partial(update_metadata.request_of, control, broker_epoch=self._epoch),
                    lambda response: answered(update_metadata.reply_of(response)),
                    answered,
                )
            case StopReplica():
                self._stop(stop_replica.split(control), Reply(), answered)
            case _:
                answered(Reply())

    def close(self) -> None:
        """Close the port; pending requests get no reply."""
        self._is_closed = True
        if self._retry is not None:
            self._retry.cancel()
        self._client.close()

    @property
    def _listener(self) -> str:
        return self._config.current.inter_broker_listener

    def _stop(self, requests: list[StopReplica], before: Reply, answered: Answered) -> None:
        """Send these requests one after another, and reply with all that failed."""
        if not requests or before.error:
            answered(before)
            return
        first, *others = requests

        def done(reply: Reply) -> None:
            self._stop(others, Reply(reply.error, {**before.partitions, **reply.partitions}), answered)

        self._send(
            ApiKey.STOP_REPLICA,
            partial(stop_replica.request_of, first, broker_epoch=self._epoch),
            lambda response: done(stop_replica.reply_of(response)),
            answered,
        )

    def _send(
        self,
        key: ApiKey,
        make: Callable[[int], Message],
        done: Callable[[Any], object],
        answered: Answered,
    ) -> None:
        """Send a request until it is answered: calls `done(response)`, or `answered` with the error if the
        request cannot be sent at all.
        """
        self._retry = None

        def failed(error: Exception) -> None:
            if self._is_closed:
                return
            if isinstance(error, PeerError) and error.fault is not PeerFault.UNSUPPORTED:
                self._retry = self._clock.call_later(RETRY_MS, partial(self._send, key, make, done, answered))
                return
            logger.error("%s cannot be sent to broker %d", key.name, self._id, exc_info=error)
            answered(Reply(ErrorCode.UNSUPPORTED_VERSION))

        def answer(response: Any) -> None:
            with contained("what heard the answer of a broker"):
                done(response)

        timeout_ms = self._config.current.integer("request.timeout.ms")
        self._client.ask(key, make, timeout_ms).then(answer, failed)
