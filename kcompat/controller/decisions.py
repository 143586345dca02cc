"""Requests of a broker to the controller, in this process or another.

Handlers submit events through `Decisions` to the controller of this process. Outside a term that controller
refuses them with NOT_CONTROLLER, and the client looks for the current controller again. Requests that the
broker makes for itself go to the current controller.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol, TypeVar

from kcompat.controller.creation import CreatePartitions, CreateTopics
from kcompat.controller.deletion import DeleteTopics
from kcompat.controller.internal_topics import FACTOR_KEYS, EnsureTopics
from kcompat.controller.leader_election_requests import ElectLeaders
from kcompat.controller.producer_ids import AllocateProducerIds
from kcompat.controller.reassignment import ListReassignments, Reassign
from kcompat.controller.shutdown import ControlledShutdown
from kcompat.logger_names import CONTROLLER
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from kcompat.cluster.znodes import ProducerIdBlock
    from kcompat.config.broker import ConfigFeed
    from kcompat.controller.features import UpdateFeatures
    from kcompat.controller.isr_changes import AlterPartition, IsrAnswers
    from kcompat.controller.shutdown import StillLed
    from kcompat.controller.state import ControlledPartition, Event
    from kcompat.controller.values import ElectionType, PartitionsSpec, TopicOutcome, TopicResult, TopicSpec
    from kcompat.promise import Promise

T = TypeVar("T")

_log = logging.getLogger(CONTROLLER)


class Submit(Protocol):
    """Function that submits an event to the controller."""

    def __call__(self, event: Event[T], /) -> Promise[T]:
        """Submit an event; promise its answer, or that of `event.refused` if it could not be decided."""


class OtherController(Protocol):
    """The current controller in another process, for requests that this broker makes for itself."""

    def ensure_topics(self, names: Sequence[str]) -> Promise[dict[str, ErrorCode]]:
        """Create missing internal topics; this broker's image may get them a little later."""

    def make_topics(self, specs: Sequence[TopicSpec]) -> Promise[list[TopicResult]]:
        """Create topics; this broker's image may get them a little later."""

    def allocate_producer_ids(self) -> Promise[ProducerIdBlock | None]:
        """Allocate a block of producer ids to this broker; None if that failed."""

    def move_leaderships_away(self) -> Promise[StillLed]:
        """Move the leaderships of this broker to other brokers; fails with PeerError."""


class Decisions:
    """The requests of one broker. Each promise is completed once this broker has acted on the decision and
    has the new image, so a client that learns of its new topic can use it.
    """

    def __init__(
        self,
        submit: Submit,
        broker_id: int,
        config: ConfigFeed,
        random: Random,
        elsewhere: Callable[[], OtherController | None] = lambda: None,
    ) -> None:
        """Prepare the requests. `random` places replicas and draws topic ids. `elsewhere()` returns the
        controller of another process, or None if the controller is in this one.
        """
        self._submit = submit
        self._broker_id = broker_id
        self._config = config
        self._random = random
        self._elsewhere = elsewhere
        self._waiting_for_brokers: set[str] = set()

    def create_topics(
        self, specs: Sequence[TopicSpec], *, validate_only: bool = False
    ) -> Promise[list[TopicResult]]:
        """Create topics with distinct names; one result each, in order. Those that cannot be made do not stop
        the others.
        """
        return self._submit(CreateTopics(specs, validate_only, self._config.current, self._random))

    def ensure_topics(self, names: Sequence[str]) -> Promise[dict[str, ErrorCode]]:
        """Create the missing ones of `names`, with the broker's defaults or Kafka's settings of internal
        topics. The result of a topic that exists afterwards is NONE.
        """
        other = self._elsewhere()
        if other is not None:
            ensured = other.ensure_topics(names)
        else:
            ensured = self._submit(EnsureTopics(names, self._config.current, self._random))
        return ensured.map(self._note_missing_brokers)

    def brokers_joined(self) -> None:
        """Try again to create the internal topics for which too few brokers were live."""
        if self._waiting_for_brokers:
            self.ensure_topics(sorted(self._waiting_for_brokers))

    def _note_missing_brokers(self, errors: dict[str, ErrorCode]) -> dict[str, ErrorCode]:
        """Remember the internal topics for which too few brokers are live, and log each once; return their
        errors.
        """
        for name in errors.keys() & FACTOR_KEYS.keys():
            if errors[name] is not ErrorCode.INVALID_REPLICATION_FACTOR:
                self._waiting_for_brokers.discard(name)
            elif name not in self._waiting_for_brokers:
                self._waiting_for_brokers.add(name)
                key = FACTOR_KEYS[name]
                _log.warning(
                    "%s cannot be made yet: %s=%d, and fewer brokers are up. Clients that need it wait for "
                    "them; if the cluster is to have no more brokers, set a smaller %s",
                    name, key, self._config.current.integer(key), key,
                )  # fmt: skip
        return errors

    def make_topics(self, specs: Sequence[TopicSpec]) -> Promise[list[TopicResult]]:
        """Create topics with distinct names that this broker needs itself; one result each, in order."""
        other = self._elsewhere()
        return self.create_topics(specs) if other is None else other.make_topics(specs)

    def delete_topics(self, names: Sequence[str]) -> Promise[Mapping[str, TopicOutcome]]:
        """Delete topics with distinct names, answered when their logs and znodes are gone."""
        return self._submit(DeleteTopics(names))

    def create_partitions(
        self, specs: Sequence[PartitionsSpec], *, validate_only: bool = False
    ) -> Promise[dict[str, TopicOutcome]]:
        """Add partitions to topics with distinct names."""
        return self._submit(CreatePartitions(specs, validate_only))

    def allocate_producer_ids(self) -> Promise[ProducerIdBlock | None]:
        """Allocate a block of producer ids to this broker; None if none is available now."""
        other = self._elsewhere()
        if other is not None:
            return other.allocate_producer_ids()
        return self.allocate_block(self._broker_id).map(
            lambda block: None if isinstance(block, ErrorCode) else block
        )

    def allocate_block(
        self, broker_id: int, broker_epoch: int | None = None
    ) -> Promise[ProducerIdBlock | ErrorCode]:
        """Allocate a block of producer ids to any broker; its epoch is checked if given."""
        return self._submit(AllocateProducerIds(broker_id, broker_epoch))

    def alter_partition(self, proposed: AlterPartition) -> Promise[IsrAnswers]:
        """Change ISRs as the leader of the partitions proposes (AlterPartition)."""
        return self._submit(proposed)

    def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> Promise[StillLed]:
        """Move the leaderships away from a broker that is about to stop."""
        return self._submit(ControlledShutdown(broker_id, broker_epoch))

    def move_leaderships_away(self, broker_epoch: int) -> Promise[StillLed]:
        """Move the leaderships of this broker, which is about to stop, to other brokers."""
        other = self._elsewhere()
        if other is not None:
            return other.move_leaderships_away()
        return self.controlled_shutdown(self._broker_id, broker_epoch)

    def elect_leaders(
        self, kind: ElectionType, partitions: Sequence[tuple[str, int]]
    ) -> Promise[Mapping[tuple[str, int], TopicOutcome]]:
        """Elect leaders of those of these partitions that need one and have an eligible replica."""
        return self._submit(ElectLeaders(kind, partitions))

    def update_features(self, wanted: UpdateFeatures) -> Promise[dict[str, TopicOutcome] | ErrorCode]:
        """Change finalized features. Returns an outcome by feature name, or the error of
        the whole request.
        """
        return self._submit(wanted)

    def reassign(
        self, wanted: Mapping[tuple[str, int], tuple[int, ...] | None], *, keeps_size: bool = False
    ) -> Promise[dict[tuple[str, int], TopicOutcome] | ErrorCode]:
        """Start to move partitions to these replicas; None cancels a reassignment. With `keeps_size` their
        number stays the same (KIP-860). Returns the outcomes, or the error of the whole request.
        """
        return self._submit(Reassign(wanted, keeps_size))

    def reassignments(
        self, partitions: Sequence[tuple[str, int]] | None
    ) -> Promise[Mapping[tuple[str, int], ControlledPartition] | ErrorCode]:
        """Return the partitions that are being reassigned, among these or, for None, among all."""
        return self._submit(ListReassignments(partitions))
