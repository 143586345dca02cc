"""Topics that brokers create when they start: their form on command lines and in variables, and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.config.known import meant_topic_key
from kcompat.config.table import TOPIC_KEYS
from kcompat.config.topic import check_topic_overrides
from kcompat.errors import ConfigError, UsageError
from kcompat.topics import CLUSTER_METADATA, name_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcompat.config.broker import BrokerConfig

PARTITIONS: Final = "partitions"
REPLICATION_FACTOR: Final = "replication.factor"
NUMBERS: Final = (PARTITIONS, REPLICATION_FACTOR)
"""Settings of a topic that are numbers and not configs."""

_FORM: Final = "NAME[:PARTITIONS[:REPLICAS]][,KEY=VALUE...], as in orders:3,cleanup.policy=compact"
_BY_POSITION: Final = (*NUMBERS, "cleanup.policy")
"""Settings after the name, by position; KAFKA_CREATE_TOPICS of older Kafka images has all of them."""


_OF_IMAGE: Final = "KCOMPAT_TOPICS"
_OF_OLDER_IMAGES: Final = "KAFKA_CREATE_TOPICS"


class FirstTopic(Struct, frozen=True):
    """A topic that is created at the start unless it exists; None stands for the broker's default."""

    name: str
    partitions: int | None = None
    replication_factor: int | None = None
    configs: dict[str, str] = {}


def first_topic(name: str, settings: Mapping[str, str]) -> FirstTopic:
    """Return a topic with settings as texts: `partitions`, `replication.factor`, and keys of topics.

    Raises:
        UsageError: the name or one of the numbers is not valid.
        ConfigError: a topic has no such key.
    """
    problem = name_problem(name)
    if problem is not None or name == CLUSTER_METADATA:
        raise UsageError(f"{name!r} cannot be the name of a topic: {problem or 'it is the log of a KRaft'}")
    configs = {key: text for key, text in settings.items() if key not in NUMBERS}
    for key in configs:
        if key not in TOPIC_KEYS:
            meant = meant_topic_key(key, NUMBERS)
            hint = "`kcompat config --topic` lists them" if meant is None else f"did you mean {meant}?"
            raise ConfigError(f"{key} of topic {name!r} is not a key of Kafka's topics: {hint}")
    partitions, replicas = (_number(name, key, settings.get(key)) for key in NUMBERS)
    return FirstTopic(name, partitions, replicas, configs)


def parse_first_topic(text: str) -> FirstTopic:
    """Return the topic of a text in the form NAME[:PARTITIONS[:REPLICAS]][,KEY=VALUE...].

    A comma belongs to a value unless a key and "=" follow it: `orders,cleanup.policy=compact,delete`.

    Raises:
        UsageError, ConfigError: the text has another form, or as for `first_topic`.
    """
    head, *parts = text.split(",")
    name, *positional = (word.strip() for word in head.split(":"))
    if len(positional) > len(_BY_POSITION):
        raise UsageError(f"topic {text!r} is not of the form {_FORM}")
    settings = {key: word for key, word in zip(_BY_POSITION, positional, strict=False) if word}
    key = ""
    for part in parts:
        named, equals, value = part.partition("=")
        if equals:
            key = named.strip()
            settings[key] = value.strip()
        elif key:
            settings[key] += f",{part.strip()}"
        else:
            raise UsageError(f"topic {text!r} is not of the form {_FORM}")
    return first_topic(name, settings)


def topics_of_variables(environment: Mapping[str, str]) -> list[FirstTopic]:
    """Return the topics of `KCOMPAT_TOPICS`, separated by space, and of `KAFKA_CREATE_TOPICS` of older Kafka
    images, `NAME:PARTITIONS:REPLICAS[:CLEANUP_POLICY]` separated by commas.

    Raises:
        UsageError, ConfigError: as for `parse_first_topic`.
    """
    theirs = (text.strip() for text in environment.get(_OF_OLDER_IMAGES, "").split(","))
    texts = [*environment.get(_OF_IMAGE, "").split(), *filter(None, theirs)]
    return [parse_first_topic(text) for text in texts]


def check_first_topics(topics: Sequence[FirstTopic], config: BrokerConfig, brokers: int) -> None:
    """Check topics together with the configuration of the brokers and, without `zookeeper.connect`, their
    number.

    Raises:
        UsageError: a topic is named twice, or requests more replicas than there are brokers.
        ConfigError: a topic's config has a value that is not allowed.
    """
    for name in _repeated(topic.name for topic in topics):
        raise UsageError(f"topic {name!r} is named twice: give all of its settings at once")
    is_alone = not config.string("zookeeper.connect")
    for topic in topics:
        try:
            check_topic_overrides(topic.configs, config)
        except ConfigError as error:
            raise ConfigError(f"topic {topic.name!r}: {error}") from error
        replicas = topic.replication_factor or 1
        if is_alone and replicas > brokers:
            more = f"--brokers {replicas} (in Python: kcompat.Cluster({replicas}))"
            raise UsageError(
                f"{REPLICATION_FACTOR}={replicas} of topic {topic.name!r} is more than the {brokers} "
                f"broker{'s' if brokers > 1 else ''}: use {brokers}, or start {more}"
            )


def _number(name: str, key: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{key}={text} of topic {name!r} cannot be: use a number, 1 or more")
    return int(text)


def _repeated(names: Iterable[str]) -> Iterable[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)
