"""The requests that wait for a broker, folded: superseded ones are dropped, related ones become one.

A broker that does not answer for a while would else be sent every step of the way later, and one that never
does would fill the memory. Requests are folded into one of their kind that waits already, which may mean to
overtake others. That is safe where the others say nothing of the same partitions, and for a picture also
where they are roles: clients are then sent to a leader a little before it is one, and ask again. Roles do not
overtake a picture, for it may show the broker that they make a leader.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcompat.cluster.news import LeaderAndIsr, StopReplica, UpdateMetadata

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcompat.cluster.image import BrokerInfo
    from kcompat.cluster.news import (
        Answered,
        AssignedPartition,
        News,
        Reply,
        ShownPartition,
        StoppedPartition,
    )
    from kcompat.topics import TopicPartition


class Queue:
    """Requests to one broker, the next one first."""

    def __init__(self) -> None:
        self._waiting: list[Pending] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, news: News, answered: Answered) -> None:
        """Fold a request into one that waits, or put it behind all."""
        for pending in reversed(self._waiting):
            if pending.take(news):
                pending.waiting.append(answered)
                return
            if not pending.lets_pass(news):
                break
        pending = _pending(news)
        pending.waiting.append(answered)
        self._waiting.append(pending)

    def pop(self) -> Pending:
        """Take the next one out."""
        return self._waiting.pop(0)

    def clear(self) -> None:
        """Forget them all."""
        self._waiting.clear()


class Pending(ABC):
    """One request, perhaps of several that were put."""

    def __init__(self) -> None:
        self.waiting: list[Answered] = []
        """Callbacks that get the reply."""

    @property
    @abstractmethod
    def news(self) -> News:
        """The metadata update to send."""

    @property
    @abstractmethod
    def partitions(self) -> Collection[TopicPartition]:
        """The partitions that the update is about."""

    @abstractmethod
    def take(self, news: News) -> bool:
        """Fold later news of the same kind in; False if that would change what they mean."""

    def lets_pass(self, news: News) -> bool:
        """Whether later news may go before it."""
        return isinstance(news, LeaderAndIsr | StopReplica | UpdateMetadata) and not any(
            (each.topic, each.index) in self.partitions for each in news.partitions
        )

    def answered(self, reply: Reply) -> None:
        """Tell all who wait."""
        for each in self.waiting:
            each(reply)


class _Roles(Pending):
    def __init__(self, news: LeaderAndIsr) -> None:
        super().__init__()
        self._first = news
        self._roles: dict[TopicPartition, AssignedPartition] = {}
        self._leaders: dict[int, BrokerInfo] = {}
        self.take(news)

    @property
    def partitions(self) -> Collection[TopicPartition]:
        return self._roles

    @property
    def news(self) -> LeaderAndIsr:
        return replace(
            self._first,
            partitions=list(self._roles.values()),
            live_leaders=list(self._leaders.values()),
        )

    def take(self, news: News) -> bool:
        if not isinstance(news, LeaderAndIsr) or news.controller_epoch != self._first.controller_epoch:
            return False
        for each in news.partitions:
            known = self._roles.get((each.topic, each.index))
            if known is not None and known.topic_id != each.topic_id:
                return False
        for each in news.partitions:
            known = self._roles.pop((each.topic, each.index), None)
            is_new = each.is_new or (known is not None and known.is_new)
            self._roles[each.topic, each.index] = replace(each, is_new=is_new)
        self._leaders.update({leader.id: leader for leader in news.live_leaders})
        return True

    def lets_pass(self, news: News) -> bool:
        return isinstance(news, UpdateMetadata) or super().lets_pass(news)


class _Picture(Pending):
    def __init__(self, news: UpdateMetadata) -> None:
        super().__init__()
        self._last = news
        self._shown: dict[TopicPartition, ShownPartition] = {}
        self._topic_ids: dict[str, bytes] = {}
        self.take(news)

    @property
    def partitions(self) -> Collection[TopicPartition]:
        return self._shown

    @property
    def news(self) -> UpdateMetadata:
        return replace(self._last, partitions=list(self._shown.values()))

    def take(self, news: News) -> bool:
        if not isinstance(news, UpdateMetadata) or news.controller_epoch != self._last.controller_epoch:
            return False
        ids = self._topic_ids
        if any(ids.get(each.topic, each.topic_id) != each.topic_id for each in news.partitions):
            return False  # another topic of the same name
        for each in news.partitions:
            ids[each.topic] = each.topic_id
            self._shown[each.topic, each.index] = each
        self._last = news
        return True

    def lets_pass(self, news: News) -> bool:
        return isinstance(news, StopReplica) and super().lets_pass(news)


class _Stops(Pending):
    def __init__(self, news: StopReplica) -> None:
        super().__init__()
        self._first = news
        self._stopped: dict[TopicPartition, StoppedPartition] = {}
        self.take(news)

    @property
    def partitions(self) -> Collection[TopicPartition]:
        return self._stopped

    @property
    def news(self) -> StopReplica:
        return replace(self._first, partitions=list(self._stopped.values()))

    def take(self, news: News) -> bool:
        if not isinstance(news, StopReplica) or news.controller_epoch != self._first.controller_epoch:
            return False
        for each in news.partitions:
            known = self._stopped.get((each.topic, each.index))
            delete = each.delete or (known is not None and known.delete)
            self._stopped[each.topic, each.index] = replace(each, delete=delete)
        return True


class _Alone(Pending):
    """News that are neither folded nor overtaken."""

    def __init__(self, news: News) -> None:
        super().__init__()
        self._news = news

    @property
    def partitions(self) -> Collection[TopicPartition]:
        return ()

    @property
    def news(self) -> News:
        return self._news

    def take(self, news: News) -> bool:  # noqa: ARG002 - none of them
        return False

    def lets_pass(self, news: News) -> bool:  # noqa: ARG002 - none of them
        return False


def _pending(news: News) -> Pending:
    match news:
        case LeaderAndIsr():
            return _Roles(news)
        case UpdateMetadata():
            return _Picture(news)
        case StopReplica():
            return _Stops(news)
    return _Alone(news)
