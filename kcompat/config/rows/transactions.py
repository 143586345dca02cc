"""Transactions: the key that Kafka 4.3 has for them beyond those of 3.9, pauses that are fixed here aside."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, no_effect
from kcompat.config.types import ConfigType

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    *no_effect(
        "no stable version of InitProducerId can ask for it",
        ConfigKey("transaction.two.phase.commit.enable", ConfigType.BOOLEAN, "false",
                  "Whether producers may have transactions without a timeout, which others decide.",
                  Importance.LOW),
    ),
)
