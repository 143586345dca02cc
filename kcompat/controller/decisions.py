"""What a broker asks of the controller, without knowing where it is.

Handlers hold a `Decisions`, which gives events to `submit`: the controller of this process. While that is not
in office it answers NOT_CONTROLLER, and the client looks for the controller anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from kcompat.controller.creation import CreatePartitions, CreateTopics
from kcompat.controller.deletion import DeleteTopics
from kcompat.controller.internal_topics import EnsureTopics
from kcompat.controller.leadership import ReplicasFailed
from kcompat.controller.producer_id_blocks import AllocateProducerIds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from kcompat.cluster.znodes import ProducerIdBlock
    from kcompat.config.feed import ConfigFeed
    from kcompat.controller.state import Event
    from kcompat.controller.values import Outcome, PartitionsSpec, TopicResult, TopicSpec
    from kcompat.promise import Promise
    from kcompat.protocol.errors import ErrorCode

T = TypeVar("T")


class Submit(Protocol):
    """Takes an event to the controller."""

    def __call__(self, event: Event[T], /) -> Promise[T]:
        """The event's answer, or what `event.refused` says where nobody can decide it."""


class Decisions:
    """The requests of one broker. Each promise is completed once this broker acts on the decision and shows
    it, so a client that is told of its new topic can use it.
    """

    def __init__(self, submit: Submit, broker_id: int, config: ConfigFeed, random: Random) -> None:
        """`random` places replicas and draws topic ids."""
        self._submit = submit
        self._broker_id = broker_id
        self._config = config
        self._random = random

    def create_topics(
        self, specs: Sequence[TopicSpec], *, validate_only: bool = False
    ) -> Promise[list[TopicResult]]:
        """Create topics with distinct names; one result each, in order. Those that cannot be made do not stop
        the others.
        """
        return self._submit(CreateTopics(specs, validate_only, self._config.current, self._random))

    def ensure_topics(self, names: Sequence[str]) -> Promise[dict[str, ErrorCode]]:
        """Create those of `names` that do not exist, with the broker's defaults, or as Kafka makes its
        internal topics. NONE stands for a topic that is there afterwards.
        """
        return self._submit(EnsureTopics(names, self._config.current, self._random))

    def delete_topics(self, names: Sequence[str]) -> Promise[Mapping[str, Outcome]]:
        """Delete topics with distinct names, answered when their logs and znodes are gone."""
        return self._submit(DeleteTopics(names))

    def create_partitions(
        self, specs: Sequence[PartitionsSpec], *, validate_only: bool = False
    ) -> Promise[dict[str, Outcome]]:
        """Add partitions to topics with distinct names."""
        return self._submit(CreatePartitions(specs, validate_only))

    def allocate_producer_ids(self) -> Promise[ProducerIdBlock | None]:
        """A fresh block of producer ids; None when it cannot be had now."""
        return self._submit(AllocateProducerIds(self._broker_id))

    def replicas_failed(self, partitions: Sequence[tuple[str, int]]) -> Promise[None]:
        """This broker cannot serve these partitions any more: their log directory is offline."""
        return self._submit(ReplicasFailed(self._broker_id, frozenset(partitions)))
