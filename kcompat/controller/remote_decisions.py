"""Requests that this broker makes for itself to a controller in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kcompat.controller.internal_topics import spec_of_automatic_topic
from kcompat.controller.shutdown import StillLed
from kcompat.controller.values import TopicResult
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.create_topics import CreateTopicsRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.cluster.znodes import ProducerIdBlock
    from kcompat.config.broker import ConfigFeed
    from kcompat.controller.values import TopicSpec
    from kcompat.peer.remote_controller import RemoteController

CREATED: Final = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)


class RemoteDecisions:
    """The `OtherController` of a broker: the controller of another process, reached over the network."""

    def __init__(self, controller: RemoteController, config: ConfigFeed) -> None:
        self._controller = controller
        self._config = config

    def ensure_topics(self, names: Sequence[str]) -> Promise[dict[str, ErrorCode]]:
        """Create missing internal topics, as `Decisions.ensure_topics` does; this broker's image may get them
        a little later.
        """
        config = self._config.current

        def errors(results: list[TopicResult]) -> dict[str, ErrorCode]:
            return {
                result.name: ErrorCode.NONE if result.error in CREATED else result.error for result in results
            }

        return self.make_topics([spec_of_automatic_topic(name, config) for name in names]).map(errors)

    def make_topics(self, specs: Sequence[TopicSpec]) -> Promise[list[TopicResult]]:
        """Create topics, as `Decisions.make_topics` does; this broker's image may get them a little later."""
        request = CreateTopicsRequest(
            topics=[_creatable(spec) for spec in specs],
            timeout_ms=self._config.current.integer("request.timeout.ms"),
        )
        made: Promise[list[TopicResult]] = Promise()

        def answered(response: Any) -> None:
            made.complete(
                [
                    TopicResult(topic.name, error_of(topic.error_code), topic.error_message)
                    for topic in response.topics
                ]
            )

        self._controller.create_topics(request).then(
            answered,
            lambda _: made.complete([TopicResult(spec.name, ErrorCode.REQUEST_TIMED_OUT) for spec in specs]),
        )
        return made

    def allocate_producer_ids(self) -> Promise[ProducerIdBlock | None]:
        return self._controller.allocate_producer_ids()

    def move_leaderships_away(self) -> Promise[StillLed]:
        """Move the leaderships of this broker to other brokers; fails with PeerError."""
        return self._controller.controlled_shutdown().map(
            lambda response: StillLed(
                error_of(response.error_code),
                [(each.topic_name, each.partition_index) for each in response.remaining_partitions],
            )
        )


def _creatable(spec: TopicSpec) -> CreateTopicsRequest.CreatableTopic:
    return CreateTopicsRequest.CreatableTopic(
        name=spec.name,
        num_partitions=spec.num_partitions,
        replication_factor=spec.replication_factor,
        configs=[CreateTopicsRequest.CreatableTopicConfig(name, value) for name, value in spec.configs],
    )
