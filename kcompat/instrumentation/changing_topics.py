"""Creation and deletion of topics of running brokers, as an admin client does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.errors import RequestError
from kcompat.instrumentation.asking import ask, kept
from kcompat.instrumentation.topics import Topic, describe_topic
from kcompat.node.first_topics import spec_of
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.delete_topics import DeleteTopicsRequest

if TYPE_CHECKING:
    from kcompat.config.first_topics import FirstTopic
    from kcompat.instrumentation.brokers import Brokers

_DELETE_VERSION: Final = 6
_TIMEOUT_MS: Final = 30_000


async def create_topic(brokers: Brokers, topic: FirstTopic) -> Topic:
    """Create a topic, and return its description once all its partitions have leaders.

    Raises:
        RequestError: the controller refuses the topic.
        TimeoutError: the partitions have no leaders after 30 seconds.
    """
    async with brokers.steady():
        (made,) = await kept(brokers.parts[0].cluster.decisions.make_topics([spec_of(topic)]))
        if made.error is not ErrorCode.NONE:
            raise RequestError(made.error.name, made.message or made.error.message)
        await brokers.until_led(topic.name)
        return describe_topic(brokers, brokers.topic(topic.name))


async def delete_topic(brokers: Brokers, name: str) -> None:
    """Delete a topic, and return once it is gone.

    Raises:
        UsageError: there is no such topic.
        RequestError: the controller refuses the deletion.
    """
    async with brokers.steady():
        brokers.topic(name)
        deleted = DeleteTopicsRequest.DeleteTopicState(name=name)
        request = DeleteTopicsRequest(topics=[deleted], timeout_ms=_TIMEOUT_MS)
        response = await ask(brokers.parts[0], request, _DELETE_VERSION)
        error = error_of(response.responses[0].error_code)
        if error is not ErrorCode.NONE:
            raise RequestError(error.name, response.responses[0].error_message or error.message)
        await brokers.until(lambda: name not in brokers.image.topics, name)
