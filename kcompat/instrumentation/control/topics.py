"""Topics, by the control port."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from kcompat.config.first_topics import FirstTopic
from kcompat.instrumentation import changing_topics
from kcompat.instrumentation.control.problems import ProblemError
from kcompat.instrumentation.topics import Topic, describe_topic, describe_topics

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control

Count = Annotated[int, Meta(ge=1, le=2**15 - 1)]


class NewTopic(Struct, forbid_unknown_fields=True):
    """A topic to create."""

    name: str
    partitions: Annotated[Count | None, Meta(description="By default the broker's num.partitions.")] = None
    replication_factor: Annotated[
        Count | None, Meta(description="By default the broker's default.replication.factor.")
    ] = None
    configs: Annotated[
        dict[str, str], Meta(description="Kafka's configs of topics, such as cleanup.policy.")
    ] = {}


class WhichTopics(Struct, forbid_unknown_fields=True):
    """The choice of topics to list."""

    internal: Annotated[bool, Meta(description="Whether to list the topics of Kafka itself too.")] = False


class WhichTopic(Struct, forbid_unknown_fields=True):
    """The choice of one topic."""

    topic: str


class Topics(Struct):
    """Topics of the cluster, by name."""

    topics: list[Topic]


async def list_topics(control: Control, which: WhichTopics) -> Topics:
    """List the topics with their partitions, offsets and configs."""
    return Topics(list((await describe_topics(control.brokers, internal=which.internal)).values()))


async def get_topic(control: Control, which: WhichTopic) -> Topic:
    """Return one topic with its partitions, offsets and configs."""
    insist_on_topic(control, which.topic)
    return describe_topic(control.brokers, control.brokers.topic(which.topic))


async def create_topic(control: Control, new: NewTopic) -> Topic:
    """Create a topic; clients can use it when the answer has come."""
    topic = FirstTopic(new.name, new.partitions, new.replication_factor, new.configs)
    return await changing_topics.create_topic(control.brokers, topic)


async def delete_topic(control: Control, which: WhichTopic) -> None:
    """Delete a topic and its records."""
    insist_on_topic(control, which.topic)
    await changing_topics.delete_topic(control.brokers, which.topic)


def insist_on_topic(control: Control, name: str) -> None:
    """Raise ProblemError with the status NOT_FOUND if there is no topic of this name."""
    if name not in control.brokers.image.topics:
        raise ProblemError(HTTPStatus.NOT_FOUND, f"there is no topic {name!r}: create it first")
