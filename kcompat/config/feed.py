"""The configuration in force on a broker: the one way to know it, and to hear of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.config.broker import BrokerConfig


class ConfigFeed:
    """Holds the snapshot in force. Whoever needs a value when it is used reads `current` each time."""

    __slots__ = ("_listeners", "current")

    def __init__(self, config: BrokerConfig) -> None:
        self.current = config
        self._listeners: list[Callable[[BrokerConfig], object]] = []

    def subscribe(self, listener: Callable[[BrokerConfig], object]) -> None:
        """Call `listener(config)` whenever another configuration is in force."""
        self._listeners.append(listener)

    def replace(self, config: BrokerConfig) -> None:
        """Put another configuration in force and tell the subscribers, first come first."""
        self.current = config
        for listener in self._listeners:
            listener(config)
