"""Requests of this broker to the current controller.

The current controller is looked up before each attempt. If the broker is not the controller any more, or does
not answer, the request is repeated to the current one until the time of the request is up. Kafka's
counterpart: `NodeToControllerRequestThread`.

In ZooKeeper mode no request of a client is forwarded (KIP-590): the client gets NOT_CONTROLLER.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from kcompat.cluster.znodes import ProducerIdBlock
from kcompat.peer.client import ANY_VERSION
from kcompat.peer.errors import PeerError, PeerFault
from kcompat.promise import Promise
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from kcompat.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kcompat.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.clock import Clock, Timer
    from kcompat.cluster.image import ClusterImage
    from kcompat.config.broker import ConfigFeed
    from kcompat.peer.client import PeerClient
    from kcompat.peer.peers import ImageSource, Peers
    from kcompat.protocol.message import Message
    from kcompat.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
    from kcompat.protocol.messages.controlled_shutdown import ControlledShutdownResponse
    from kcompat.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

RETRY_MS: Final = 50
"""Pause in ms between two attempts; a new controller in the cluster image ends it."""

LAST_WITHOUT_TOPIC_IDS: Final = 1
"""The newest AlterPartition that names topics."""


class RemoteController:
    """Requests of one broker to the current controller, whichever broker that is."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        peers: Peers,
        cluster: ImageSource,
        config: ConfigFeed,
        clock: Clock,
    ) -> None:
        """Prepare the requests; `broker_epoch` returns the current czxid of this broker's registration."""
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._peers = peers
        self._cluster = cluster
        self._config = config
        self._clock = clock
        self._waiting: dict[_PendingRequest, Timer] = {}  # requests that wait for the next attempt
        self._asked: dict[_PendingRequest, PeerClient] = {}  # requests sent and not answered yet
        self._is_closed = False
        cluster.subscribe(self._image_changed)

    # Requests

    def propose(self, request: AlterPartitionRequest) -> Promise[AlterPartitionResponse]:
        """Propose ISRs (AlterPartition). The request has names and ids of topics and both forms of an ISR;
        those the version lacks are left out.
        """
        has_ids = all(topic.topic_id != ZERO_UUID for topic in request.topics)
        return self._ask(
            ApiKey.ALTER_PARTITION,
            partial(_alter_partition, request),
            newest=ANY_VERSION if has_ids else LAST_WITHOUT_TOPIC_IDS,
        )

    def allocate_producer_ids(self) -> Promise[ProducerIdBlock | None]:
        """Allocate a block of producer ids; None if none is available now."""
        allocated: Promise[ProducerIdBlock | None] = Promise()

        def answered(response: Any) -> None:
            first, count = response.producer_id_start, response.producer_id_len
            is_good = not response.error_code and first >= 0 and count > 0
            block = ProducerIdBlock(self._broker_id, first, first + count - 1) if is_good else None
            allocated.complete(block)

        self._ask(
            ApiKey.ALLOCATE_PRODUCER_IDS,
            lambda _: AllocateProducerIdsRequest(self._broker_id, self._broker_epoch()),
        ).then(answered, lambda _: allocated.complete(None))
        return allocated

    def controlled_shutdown(self) -> Promise[ControlledShutdownResponse]:
        """Move the leaderships of this broker away; promise the partitions that could not be moved."""
        return self._ask(
            ApiKey.CONTROLLED_SHUTDOWN,
            lambda _: ControlledShutdownRequest(self._broker_id, self._broker_epoch()),
        )

    def create_topics(self, request: CreateTopicsRequest) -> Promise[CreateTopicsResponse]:
        """Create automatic and internal topics for this broker."""
        return self._ask(ApiKey.CREATE_TOPICS, lambda _: request)

    def close(self) -> None:
        """Close: pending requests fail, and later ones too."""
        self._is_closed = True
        waiting, self._waiting = self._waiting, {}
        for pending, timer in waiting.items():
            timer.cancel()
            pending.miss(PeerFault.ABANDONED)

    # Attempts

    def _ask(self, key: ApiKey, make: Callable[[int], Message], newest: int = ANY_VERSION) -> Promise[Any]:
        pending = _PendingRequest(key, make, newest)
        pending.deadline_ms = self._clock.now_ms() + self._config.current.integer("request.timeout.ms")
        if self._is_closed:
            pending.miss(PeerFault.ABANDONED)
        else:
            self._attempt(pending)
        return pending.promise

    def _attempt(self, pending: _PendingRequest) -> None:
        self._waiting.pop(pending, None)
        left_ms = pending.deadline_ms - self._clock.now_ms()
        if left_ms <= 0:
            pending.miss(pending.fault)
            return
        controller = self._cluster.image.controller_id
        if controller < 0:
            pending.fault = PeerFault.UNKNOWN
            self._pause(pending)
            return
        timeout_ms = min(left_ms, self._config.current.integer("controller.socket.timeout.ms"))
        client = self._peers.of(controller, f"controller: {pending.key.name}")
        self._asked[pending] = client
        client.ask(pending.key, pending.make, timeout_ms, pending.newest).then(
            partial(self._answered, pending), partial(self._failed, pending)
        )

    def _answered(self, pending: _PendingRequest, response: Message) -> None:
        self._asked.pop(pending, None)
        if _names_another_controller(response):
            self._pause(pending)
        else:
            pending.promise.complete(response)

    def _failed(self, pending: _PendingRequest, error: Exception) -> None:
        self._asked.pop(pending, None)
        if isinstance(error, PeerError) and error.fault is not PeerFault.UNSUPPORTED:
            pending.fault = error.fault
            self._pause(pending)
        else:
            pending.promise.fail(error)

    def _pause(self, pending: _PendingRequest) -> None:
        if self._is_closed:
            pending.miss(PeerFault.ABANDONED)
        else:
            self._waiting[pending] = self._clock.call_later(RETRY_MS, partial(self._attempt, pending))

    def _image_changed(self, old: ClusterImage, new: ClusterImage) -> None:
        if old.controller_id != new.controller_id:
            # Stop waiting to connect to the former controller; it may still answer requests already sent.
            for client in set(self._asked.values()):
                if not client.is_ready:
                    client.close()
            for pending, timer in list(self._waiting.items()):
                timer.cancel()
                self._attempt(pending)


class _PendingRequest:
    """A request until it is answered or times out."""

    __slots__ = ("deadline_ms", "fault", "key", "make", "newest", "promise")

    def __init__(self, key: ApiKey, make: Callable[[int], Message], newest: int) -> None:
        self.key = key
        self.make = make
        self.newest = newest
        self.promise: Promise[Any] = Promise()
        self.deadline_ms = 0
        self.fault = PeerFault.NO_ANSWER
        """Fault of the last attempt."""

    def miss(self, fault: PeerFault) -> None:
        """Fail the promise: no response will come."""
        self.promise.fail(PeerError(fault, "the controller"))


def _names_another_controller(response: Any) -> bool:
    """Return whether the response, or one topic of it, says NOT_CONTROLLER."""
    if hasattr(response, "error_code"):
        return bool(response.error_code == ErrorCode.NOT_CONTROLLER)
    return any(topic.error_code == ErrorCode.NOT_CONTROLLER for topic in response.topics)


def _alter_partition(request: AlterPartitionRequest, version: int) -> AlterPartitionRequest:
    """Return the AlterPartition request in this version."""
    topics = [replace(topic, partitions=_isrs(topic.partitions, version)) for topic in request.topics]
    return replace(request, topics=topics)


def _isrs(
    partitions: Sequence[AlterPartitionRequest.PartitionData], version: int
) -> list[AlterPartitionRequest.PartitionData]:
    if version >= 3:  # KIP-903: the broker epoch of each member
        return [replace(partition, new_isr=[]) for partition in partitions]
    if version >= 1:  # KIP-704
        return [replace(partition, new_isr_with_epochs=[]) for partition in partitions]
    return [replace(partition, new_isr_with_epochs=[], leader_recovery_state=0) for partition in partitions]
