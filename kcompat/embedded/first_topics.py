"""Conversion of the argument `topics` of `Broker` and `Cluster`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from kcompat.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcompat.config.broker import BrokerConfig
    from kcompat.config.first_topics import FirstTopic
    from kcompat.embedded.settings import Settings

Topics: TypeAlias = "Mapping[str, int | Settings] | Sequence[str]"
"""Numbers of partitions, or settings, by the name of the topic; or names alone. Settings are `partitions`,
`replication.factor`, and Kafka's keys of topics."""


def read_topics(topics: Topics | None, config: BrokerConfig, brokers: int) -> list[FirstTopic]:
    """Return the topics that the argument specifies for a number of brokers.

    Raises:
        UsageError: the argument, a name or a number is not valid.
        ConfigError: a topic has no such key, or refuses the value.
    """
    if topics is None:
        return []
    from kcompat.config.first_topics import check_first_topics, first_topic

    read = [first_topic(name, texts) for name, texts in _texts(topics)]
    check_first_topics(read, config, brokers)
    return read


def read_topic(
    name: str, partitions: int | None, replication_factor: int | None, config: Settings | None
) -> FirstTopic:
    """Return one topic that the arguments specify; None stands for the brokers' default.

    Raises:
        UsageError, ConfigError: as for `read_topics`.
    """
    from kcompat.config.first_topics import NUMBERS, PARTITIONS, REPLICATION_FACTOR, first_topic

    if config is not None and not isinstance(config, Mapping):
        raise UsageError(
            f"config={config!r} is no mapping: use Kafka's keys, as in {{'cleanup.policy': 'compact'}}"
        )
    numbers = {PARTITIONS: partitions, REPLICATION_FACTOR: replication_factor}
    given = {key: value for key, value in numbers.items() if value is not None}
    if twice := [key for key in NUMBERS if key in (config or {})]:
        raise UsageError(f"{twice[0]} is no config of a topic: give it as the argument of its own")
    ((_, texts),) = _texts({name: {**(config or {}), **given}})
    return first_topic(name, texts)


def _texts(topics: Topics) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the names of the topics, and their settings as texts."""
    from kcompat.embedded.settings import text_of

    if not isinstance(topics, Mapping | list | tuple | set | frozenset):
        raise UsageError(f"topics={topics!r} are no topics: use partitions by name, as in {{'orders': 3}}")
    for name in topics:
        if not isinstance(name, str):
            raise UsageError(f"{name!r} cannot be the name of a topic: use text")
        settings = _settings(name, topics[name]) if isinstance(topics, Mapping) else {}
        yield name, {key: text_of(key, value) for key, value in settings.items()}


def _settings(name: str, value: int | Settings) -> Settings:
    if isinstance(value, int) and not isinstance(value, bool):
        return {"partitions": value}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return value
    raise UsageError(
        f"{value!r} does not describe topic {name!r}: use its number of partitions, or settings such as "
        "{'partitions': 3, 'cleanup.policy': 'compact'}"
    )
