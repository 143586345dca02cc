"""Topics, by the control port."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from kcompat.controller.values import USE_DEFAULT, TopicSpec
from kcompat.errors import RequestError
from kcompat.instrumentation.asking import kept
from kcompat.instrumentation.control.problems import ProblemError
from kcompat.instrumentation.topics import Topic, describe_topics
from kcompat.protocol.errors import ErrorCode

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
    return Topics(list(describe_topics(control.brokers, internal=which.internal).values()))


async def get_topic(control: Control, which: WhichTopic) -> Topic:
    """Return one topic with its partitions, offsets and configs."""
    insist_on_topic(control, which.topic)
    return describe_topics(control.brokers, internal=True)[which.topic]


async def create_topic(control: Control, new: NewTopic) -> Topic:
    """Create a topic; clients can use it when the answer has come."""
    brokers = control.brokers
    spec = TopicSpec(
        new.name,
        new.partitions or USE_DEFAULT,
        new.replication_factor or USE_DEFAULT,
        configs=list(new.configs.items()),
    )
    (made,) = await kept(brokers.parts[0].cluster.decisions.make_topics([spec]))
    if made.error is not ErrorCode.NONE:
        raise RequestError(made.error.name, made.message or made.error.message)
    await brokers.until(lambda: new.name in brokers.image.topics, new.name)
    return describe_topics(brokers, internal=True)[new.name]


def insist_on_topic(control: Control, name: str) -> None:
    """Raise ProblemError with the status NOT_FOUND if there is no topic of this name."""
    if name not in control.brokers.image.topics:
        raise ProblemError(HTTPStatus.NOT_FOUND, f"there is no topic {name!r}: create it first")
