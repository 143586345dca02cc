"""Streams groups as their clients see them: what the coordinator decides, and the topics that it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.group.errors import modern_error
from kcompat.group.kinds.streams import finding, heartbeat
from kcompat.group.kinds.streams.requests import DescribedStreamsGroup, StreamsHeartbeatAnswer
from kcompat.group.kinds.streams.validation import request_refusal
from kcompat.promise import Promise

if TYPE_CHECKING:
    from kcompat.group.coordinator import GroupCoordinator
    from kcompat.group.kinds.streams.internal_topics import InternalTopics
    from kcompat.group.kinds.streams.requests import StreamsHeartbeatRequest
    from kcompat.protocol.errors import ErrorCode


class StreamsGroups:
    """The streams groups that one broker coordinates."""

    def __init__(self, groups: GroupCoordinator, topics: InternalTopics) -> None:
        self._groups = groups
        self.topics = topics

    def heartbeat(self, request: StreamsHeartbeatRequest) -> Promise[StreamsHeartbeatAnswer]:
        """StreamsGroupHeartbeat. Topics that it misses are made by whoever may have them made."""
        refusal = request_refusal(request)
        if refusal is not None:
            return Promise.resolved(StreamsHeartbeatAnswer(refusal.error, refusal.message))

        def failed(error: ErrorCode) -> StreamsHeartbeatAnswer:
            return StreamsHeartbeatAnswer(modern_error(error))

        return self._groups.write(request.group_id, lambda turn: heartbeat.heartbeat(turn, request), failed)

    def describe(self, group_id: str) -> DescribedStreamsGroup:
        """StreamsGroupDescribe of one group."""
        return self._groups.read(
            group_id,
            lambda shard: finding.describe(shard, group_id),
            lambda error: DescribedStreamsGroup(group_id, error),
        )
