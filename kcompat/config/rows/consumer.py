"""Consumer groups of KIP-848: the keys that Kafka 4.3 has for them beyond those of 3.9."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, no_effect
from kcompat.config.types import ConfigType
from kcompat.config.validators import Range

INT = ConfigType.INT

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    ConfigKey("group.consumer.regex.refresh.interval.ms", INT, "600000",
              "How often the topics are looked up that the patterns of a group match. New topics are found "
              "sooner; what its members may describe may have changed without that.",
              validator=Range(10_000), internal=True),
    *no_effect(
        "one event loop does the work; there are no thread pools to size",
        ConfigKey("group.coordinator.background.threads", INT, "2",
                  "Threads that look up patterns and make assignments.", Importance.HIGH, Range(1)),
    ),
)
