"""The follower's side of a fetch session (KIP-227): a request names only the partitions that changed. Pure.

The cost of a request depends on the partitions that changed since the last request, not on the number of
followed partitions. Kafka's counterpart: `FetchSessionHandler`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.fetch import FetchRequest
from kcompat.replication.waiting.fetch_session import INITIAL_EPOCH, NO_SESSION, next_epoch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.protocol.messages.fetch import FetchResponse
    from kcompat.topics import TopicPartition

Topic = FetchRequest.FetchTopic
Row = FetchRequest.FetchPartition
Forgotten = FetchRequest.ForgottenTopic


class PartitionFetch(Struct, frozen=True, gc=False):
    """The fields of a Fetch request for one partition."""

    topic_id: bytes
    offset: int
    log_start_offset: int
    leader_epoch: int
    last_fetched_epoch: int
    max_bytes: int


class FollowerFetchSession:
    """The partitions that a follower fetches from one leader, and the id and epoch of its fetch session."""

    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._wanted: dict[TopicPartition, PartitionFetch] = {}
        self._changed: dict[TopicPartition, None] = {}
        self.sent: dict[TopicPartition, PartitionFetch] = {}
        """Fields last sent for each partition, in the pending request included."""

    def __len__(self) -> int:
        return len(self._wanted)

    @property
    def wanted(self) -> list[TopicPartition]:
        """The fetched partitions, in the order in which they were added."""
        return list(self._wanted)

    def wants(self, key: TopicPartition) -> PartitionFetch:
        """Return the fields of the next Fetch for a partition."""
        return self._wanted[key]

    @property
    def has_work(self) -> bool:
        """Whether the next request would fetch a partition, or remove one from the session."""
        return bool(self._wanted) or (self._epoch != INITIAL_EPOCH and bool(self.sent))

    def want(self, key: TopicPartition, fetch: PartitionFetch) -> None:
        """Fetch a partition from now on; replace its fields if it is fetched already."""
        self._wanted[key] = fetch
        self._changed[key] = None

    def drop(self, key: TopicPartition) -> None:
        """Stop fetching a partition."""
        if self._wanted.pop(key, None) is not None:
            self._changed[key] = None

    def fill(self, request: FetchRequest) -> None:
        """Fill the request with the session's id and epoch, and the partitions that changed since the last
        request.
        """
        request.session_id, request.session_epoch = self._id, self._epoch
        if self._epoch == INITIAL_EPOCH:
            changed: Iterable[TopicPartition] = self._wanted
            self.sent = {}
        else:
            changed = self._changed
        topics: dict[str, Topic] = {}
        forgotten: dict[str, Forgotten] = {}
        for key in changed:
            topic, index = key
            fetch, before = self._wanted.get(key), self.sent.get(key)
            if fetch == before:
                continue
            if before is not None and (fetch is None or fetch.topic_id != before.topic_id):
                gone = forgotten.setdefault(topic, Forgotten(topic, before.topic_id))
                gone.partitions.append(index)
            if fetch is None:
                del self.sent[key]
                continue
            self.sent[key] = fetch
            if topic not in topics:
                topics[topic] = Topic(topic, fetch.topic_id)
            topics[topic].partitions.append(
                Row(
                    partition=index,
                    current_leader_epoch=fetch.leader_epoch,
                    fetch_offset=fetch.offset,
                    last_fetched_epoch=fetch.last_fetched_epoch,
                    log_start_offset=fetch.log_start_offset,
                    partition_max_bytes=fetch.max_bytes,
                )
            )
        self._changed.clear()
        request.topics = list(topics.values())
        request.forgotten_topics_data = list(forgotten.values())

    def answered(self, response: FetchResponse) -> bool:
        """Advance the session to its next epoch, or begin a new session, as the response requires.

        Returns False if the leader refused the request; the next request then names every partition.
        """
        if response.error_code:
            is_gone = response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            self._begin_anew(NO_SESSION if is_gone else self._id)
            return False
        if response.session_id == NO_SESSION:
            self._begin_anew(NO_SESSION)
        else:
            self._id = response.session_id
            self._epoch = next_epoch(self._epoch)
        return True

    def failed(self) -> None:
        """Begin a new session after a request without response, which the leader may or may not have
        received.
        """
        self._begin_anew(self._id)

    def _begin_anew(self, session_id: int) -> None:
        """Make the next request name every partition and close the session of this id."""
        self._id = session_id
        self._epoch = INITIAL_EPOCH


def keep_requested(request: FetchRequest) -> None:
    """Remove requested partitions from the forgotten ones, for versions that name topics without their ids.

    A topic that was deleted and created again has an old and a new partition of the same name. Leaders
    process forgotten partitions last, so they would drop the new partition.
    """
    fetch = {(topic.topic, row.partition) for topic in request.topics for row in topic.partitions}
    for gone in request.forgotten_topics_data:
        gone.partitions = [index for index in gone.partitions if (gone.topic, index) not in fetch]
    request.forgotten_topics_data = [gone for gone in request.forgotten_topics_data if gone.partitions]
