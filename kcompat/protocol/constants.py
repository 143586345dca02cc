"""Numbers with a meaning of their own in Kafka's messages."""

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
