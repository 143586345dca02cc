"""A broker that a controller tells things, and that remembers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcompat.cluster.news import Answered, News, Reply


class ToldBroker:
    """A `BrokerPort` that has one reply to everything; None: it never answers."""

    def __init__(self, reply: Reply | None = None) -> None:
        self.heard: list[News] = []
        self._reply = reply

    def give(self, news: News, answered: Answered) -> None:
        """See `BrokerPort`."""
        self.heard.append(news)
        if self._reply is not None:
            answered(self._reply)
