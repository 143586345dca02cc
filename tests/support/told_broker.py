"""A broker that a controller tells things, and that remembers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kcompat.cluster.control_requests import Answered, ControlRequest, Reply
    from kcompat.protocol.errors import ErrorCode


class ToldBroker:
    """A `BrokerPort` that has one reply to everything; None: it never answers."""

    def __init__(self, reply: Reply | None = None) -> None:
        self.heard: list[ControlRequest] = []
        self._reply = reply

    def give(self, news: ControlRequest, answered: Answered) -> None:
        self.heard.append(news)
        if self._reply is not None:
            answered(self._reply)


class HeardConfigs:
    """A `ConfigChanges` that notes whose configs were asked for; it knows them, or will when it is told."""

    def __init__(self, known: Promise[None] | None = None) -> None:
        self.ensured: list[str] = []
        self._known = known or Promise.resolved(None)

    def replace(
        self, kind: str, name: str, configs: Mapping[str, str], basis: Mapping[str, str] | None = None
    ) -> Promise[ErrorCode]:
        """Nobody changes any."""
        raise AssertionError("no configs are changed here")

    def ensure(self, topics: Collection[str]) -> Promise[None]:
        self.ensured += sorted(topics)
        return self._known
