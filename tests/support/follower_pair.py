"""A leader and a follower in memory, and the fetcher between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.replication.following.fetcher import Fetcher
from support.default_settings import fetcher_settings
from support.replica_logs import TOPIC_ID, MemoryLeader, MemoryLog

if TYPE_CHECKING:
    from kcompat.protocol.message import Message
    from kcompat.replication.following.fetch_state import FetcherConfig

ME, EPOCH, NOW = 2, 9, 1000
BROKER_EPOCH = 55


class Pair:
    """A leader of these logs, and a follower with logs of its own."""

    def __init__(self, *logs: MemoryLog, leads: list[MemoryLog], config: FetcherConfig | None = None) -> None:
        self.logs = logs
        self.leader = MemoryLeader(EPOCH, *leads)
        self.fetcher = Fetcher(ME, lambda: BROKER_EPOCH, config or fetcher_settings())
        self.now_ms = NOW
        for log in logs:
            self.fetcher.follow(log, EPOCH)

    def ask(self) -> Message | None:
        """The next request."""
        request = self.fetcher.next(self.now_ms)
        self.fetcher.check_invariants()
        return request

    def step(self) -> Message | None:
        """One request and its answer."""
        request = self.ask()
        if request is not None:
            self.answer(self.leader.answer(request))
        return request

    def answer(self, response: Message) -> None:
        """The leader says this."""
        self.fetcher.answered(response, self.now_ms)
        self.fetcher.check_invariants()

    def fail(self, request: Message) -> None:
        """The leader is not reached."""
        self.fetcher.failed_call(request, self.now_ms)
        self.fetcher.check_invariants()


def asked(request: Message | None) -> list[tuple[int, int]]:
    """Partition and offset of each row of a fetch."""
    assert isinstance(request, FetchRequest)
    return [(row.partition, row.fetch_offset) for topic in request.topics for row in topic.partitions]


def one(follower: str = "00", leader: str = "0011", **more: int) -> Pair:
    """One partition; `more` is of the leader's log."""
    return Pair(MemoryLog(follower), leads=[MemoryLog(leader, **more)])


def answer(*rows: FetchResponse.PartitionData, session_id: int = 7) -> FetchResponse:
    """An answer to a fetch."""
    topic = FetchResponse.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=list(rows))
    return FetchResponse(session_id=session_id, responses=[topic])
