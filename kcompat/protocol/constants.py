"""Numbers with a meaning of their own in Kafka's messages."""

from enum import IntEnum
from typing import Final

ACKS_NONE: Final = 0
"""`acks` of a producer that expects no response."""
ACKS_LEADER: Final = 1
"""`acks` of a producer that waits for the leader alone."""
ACKS_ALL: Final = -1
"""`acks` of a producer that waits for all in-sync replicas."""

NO_EPOCH: Final = -1
"""Leader, broker, producer or member epoch that is absent or unknown."""
NO_LEADER: Final = -1
"""Leader of a partition that has none."""
UNKNOWN_OFFSET: Final = -1
"""Offset that is absent or unknown."""


class ConfigResourceType(IntEnum):
    """Types of resources with a configuration (Kafka's `ConfigResource.Type`)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """The source of a config's value, in DescribeConfigs v1 and later (`ConfigEntry.ConfigSource`)."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8
