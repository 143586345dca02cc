"""Creation of the topics that a broker is told to have from its start."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from kcompat.config.errors import ConfigError
from kcompat.controller.values import USE_DEFAULT, TopicSpec
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.config.first_topics import FirstTopic
    from kcompat.controller.values import TopicResult
    from kcompat.node.parts import Parts

_PAUSE_S: Final = 0.05
_RETRIED: Final = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,  # elections are under way
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.TOPIC_ALREADY_EXISTS,  # this broker does not know it yet, or it is being deleted
    }
)
_NOT_AN_ERROR: Final = _RETRIED | {ErrorCode.NONE}


async def make_first_topics(parts: Parts, topics: Sequence[FirstTopic]) -> None:
    """Create those of `topics` that do not exist, and return when the broker knows all of them.

    A topic that exists keeps its configs.

    Raises:
        ConfigError: a topic cannot be created, or exists with another number of partitions.
    """
    metadata = parts.storage.metadata
    while missing := [topic for topic in topics if topic.name not in metadata.image.topics]:
        for result in await _made(parts, missing):
            if result.error not in _NOT_AN_ERROR:
                raise ConfigError(
                    f"topic {result.name!r} cannot be created: {result.message or result.error.message}"
                )
        if any(topic.name not in metadata.image.topics for topic in missing):
            await asyncio.sleep(_PAUSE_S)
    for topic in topics:
        found = len(metadata.image.topics[topic.name].partitions)
        if topic.partitions not in (None, found):
            raise ConfigError(
                f"topic {topic.name!r} exists with {found} partition{'s' if found > 1 else ''}, not "
                f"{topic.partitions}: ask for {found}, or use another data directory"
            )


def spec_of(topic: FirstTopic) -> TopicSpec:
    """Return a topic in the form in which the controller creates it."""
    return TopicSpec(
        topic.name,
        topic.partitions or USE_DEFAULT,
        topic.replication_factor or USE_DEFAULT,
        configs=list(topic.configs.items()),
    )


async def _made(parts: Parts, topics: Sequence[FirstTopic]) -> list[TopicResult]:
    answered: asyncio.Future[list[TopicResult]] = asyncio.get_running_loop().create_future()

    def answer(results: list[TopicResult]) -> None:
        if not answered.done():  # a start may be given up meanwhile
            answered.set_result(results)

    parts.cluster.decisions.make_topics([spec_of(topic) for topic in topics]).then(answer)
    return await answered
