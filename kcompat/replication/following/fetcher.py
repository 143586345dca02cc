"""The state machine that follows one leader: it makes requests and applies the responses to logs. Pure.

One request is pending at a time: `next` makes it, `answered` or `failed_call` takes its result. Logs are
read and written through `FollowerLog`.

- Every fetch carries the leader epoch and the epoch of the last batch. A leader whose log diverges at that
  point responds with the end of that epoch, and the log is truncated (KIP-595). Before 2.7 the
  end is requested with OffsetForLeaderEpoch before the first fetch (KIP-101, KIP-279). A log without epochs
  is truncated to its high watermark.
- A response is ignored for a partition that was moved, truncated or given another role since the request.
  A log is truncated before the same response changes its high watermark or log start (KAFKA-14704).
- If the offset is not in the leader's log, ListOffsets returns the end and the start of that log.
- Temporary errors are retried after a pause, which doubles up to `replica.fetch.backoff.ms`. (Kafka always
  pauses for that maximum, although a newly elected leader learns of its election within milliseconds.) A
  full disk is a temporary error. After a permanent error, such as a failed disk, a partition is not fetched
  until its next role.

Kafka's counterparts: `AbstractFetcherThread`, `ReplicaFetcherThread` and `RemoteLeaderEndPoint`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kcompat.log.epochs import UNDEFINED
from kcompat.log.errors import StorageError
from kcompat.logger_names import REPLICA_FETCHER
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.fetch import FetchRequest, FetchResponse
from kcompat.protocol.messages.list_offsets import ListOffsetsResponse
from kcompat.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse
from kcompat.replication.following.fetch_state import (
    FetcherConfig,
    FetchState,
    Stage,
    epochs_request,
    offsets_request,
)
from kcompat.replication.following.follower_fetch_session import FollowerFetchSession
from kcompat.replication.following.follower_log import truncation
from kcompat.replication.listing import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.protocol.message import Message
    from kcompat.replication.following.follower_log import FollowerLog
    from kcompat.topics import TopicPartition

logger = logging.getLogger(REPLICA_FETCHER)

FIRST_BACKOFF_MS: Final = 20

HOLD_MS: Final = 200
"""Milliseconds after which the throttle of a held replica is checked again."""

LOST_SESSION: Final = frozenset({ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH})
"""Errors after which the next fetch begins a new session: the leader has forgotten the old one, or was
restarted.
"""

Answer = FetchResponse.PartitionData
EpochAnswer = OffsetForLeaderEpochResponse.EpochEndOffset
OffsetAnswer = ListOffsetsResponse.ListOffsetsPartitionResponse


class Fetcher:
    """The partitions that one broker fetches from one leader, through one connection."""

    def __init__(self, broker_id: int, broker_epoch: Callable[[], int], config: FetcherConfig) -> None:
        """Make an empty fetcher; `broker_epoch` returns the epoch of this broker's current registration."""
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._config = config
        self._session = FollowerFetchSession()
        self._states: dict[TopicPartition, FetchState] = {}
        self._by_id: dict[tuple[bytes, int], TopicPartition] = {}
        self._not_fetching: dict[TopicPartition, FetchState] = {}
        self._delayed: dict[TopicPartition, int] = {}
        """End of each partition's pause, in ms since the epoch."""
        self._requested: dict[TopicPartition, int] = {}
        """Leader epoch of each partition in the pending request, if that request is not a Fetch."""
        self.failed: set[TopicPartition] = set()
        """Partitions that failed permanently; they are not fetched until their next role."""

    @property
    def is_idle(self) -> bool:
        """Whether the fetcher has no partitions, failed ones included."""
        return not self._states and not self.failed

    # -- partitions --------------------------------------------------------------------------------------

    def follow(self, log: FollowerLog, leader_epoch: int) -> None:
        """Start fetching a partition in this leader epoch, from its log end."""
        key = (log.topic, log.index)
        self.forget(key)
        self._states[key] = state = FetchState(log, leader_epoch, Stage.FETCHING)
        self._by_id[log.topic_id, log.index] = key
        if log.latest_epoch == UNDEFINED:
            self._cut(key, state, log.high_watermark)
        else:
            is_old = not self._config.truncates_on_fetch
            self._enter(key, state, Stage.TRUNCATING if is_old else Stage.FETCHING)

    def forget(self, key: TopicPartition) -> None:
        """Stop fetching a partition, and forget that it failed."""
        self.failed.discard(key)
        self._drop(key)

    def _drop(self, key: TopicPartition) -> None:
        state = self._states.pop(key, None)
        if state is not None:
            self._by_id.pop((state.log.topic_id, state.log.index), None)
            self._not_fetching.pop(key, None)
            self._delayed.pop(key, None)
            self._session.drop(key)

    def lag(self, key: TopicPartition) -> int | None:
        """Return the number of offsets that a partition is behind the leader's high watermark.

        The result is -1 before the first response, and None if the partition is not followed.
        """
        state = self._states.get(key)
        return None if state is None else state.lag

    # -- requests ----------------------------------------------------------------------------------------

    def next(self, now_ms: int) -> Message | None:
        """Return the next request; None if no request is due before `due_ms`."""
        for key in [key for key, until in self._delayed.items() if until <= now_ms]:
            state = self._states[key]
            if state.stage is Stage.FETCHING and state.log.is_held(state.lag):
                self._delayed[key] = now_ms + HOLD_MS
            else:
                del self._delayed[key]
                self._enter(key, state, state.stage)
        if self._not_fetching:
            me, of = self._broker_id, self._in_stage
            request = (
                epochs_request(me, of(Stage.TRUNCATING))
                or offsets_request(me, of(Stage.SEEKING_END), LATEST_TIMESTAMP)
                or offsets_request(me, of(Stage.SEEKING_START), EARLIEST_TIMESTAMP)
            )
            if request is not None:
                return request
        return self._fetch()

    def due_ms(self) -> int | None:
        """Return the end of the first pause in ms since the epoch; None if no partition pauses."""
        return min(self._delayed.values(), default=None)

    def _fetch(self) -> FetchRequest | None:
        if not self._session.has_work:
            return None
        config = self._config
        request = FetchRequest(
            replica_state=FetchRequest.ReplicaState(self._broker_id, self._broker_epoch()),
            max_wait_ms=config.max_wait_ms,
            min_bytes=config.min_bytes,
            max_bytes=config.response_max_bytes,
        )
        self._session.fill(request)
        return request

    def _in_stage(self, stage: Stage) -> list[tuple[TopicPartition, FetchState]]:
        """Return the partitions in this stage that do not pause, and add them to the pending request."""
        found = [
            (key, state)
            for key, state in self._not_fetching.items()
            if state.stage is stage and key not in self._delayed
        ]
        self._requested = {key: state.leader_epoch for key, state in found}
        return found

    # -- responses ---------------------------------------------------------------------------------------

    def answered(self, response: Message, now_ms: int) -> None:
        """Apply the response to the last request."""
        match response:
            case FetchResponse():
                self._fetched(response, now_ms)
            case OffsetForLeaderEpochResponse():
                for topic in response.topics:
                    for row in topic.partitions:
                        self._found_epoch((topic.topic, row.partition), row, now_ms)
            case ListOffsetsResponse():
                for offsets in response.topics:
                    for found in offsets.partitions:
                        self._found_offset((offsets.name, found.partition_index), found, now_ms)
            case _:
                raise AssertionError("a fetcher sends no such request")

    def failed_call(self, request: Message, now_ms: int) -> None:
        """Pause the partitions of a request that got no response."""
        if isinstance(request, FetchRequest):
            self._session.failed()
            self._pause_fetching(now_ms)
            return
        for key in self._requested:
            if key in self._states and key not in self._delayed:
                self._pause(key, now_ms)

    def _pause_fetching(self, now_ms: int) -> None:
        for key in self._session.wanted:
            self._pause(key, now_ms)

    def _fetched(self, response: FetchResponse, now_ms: int) -> None:
        if not self._session.answered(response):
            if response.error_code not in LOST_SESSION:
                self._pause_fetching(now_ms)
            return
        for topic in response.responses:
            for answer in topic.partitions:
                index = answer.partition_index
                key = (topic.topic, index) if topic.topic else self._by_id.get((topic.topic_id, index))
                if key is not None:
                    self._contain(key, answer, now_ms)

    def _contain(self, key: TopicPartition, answer: Answer, now_ms: int) -> None:
        """Apply the response for one partition. An unexpected exception stops only that partition."""
        try:
            self._take(key, answer, now_ms)
        except Exception:
            logger.exception("Processing the response for %s-%d failed", *key)
            self._give_up(key, "a fault in this broker")

    def _take(self, key: TopicPartition, answer: Answer, now_ms: int) -> None:
        """Apply the response for one partition, unless its offset or epoch has changed since the request."""
        state, sent = self._states.get(key), self._session.sent.get(key)
        if state is None or sent is None or key in self._delayed:
            return
        is_current = (sent.offset, sent.leader_epoch) == (state.log.log_end_offset, state.leader_epoch)
        if state.stage is not Stage.FETCHING or not is_current:
            return
        error = error_of(answer.error_code)
        if error == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._enter(key, state, Stage.SEEKING_END)
            if state.failures:
                self._pause(key, now_ms)
            state.failures += 1
        elif error:
            self._refused(key, error, now_ms)
        elif answer.diverging_epoch.epoch >= 0:
            self._truncate(key, answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset)
        else:
            self._append(key, state, answer, now_ms)

    def _append(self, key: TopicPartition, state: FetchState, answer: Answer, now_ms: int) -> None:
        records, log = answer.records, state.log
        if records is not None and len(records):
            assert isinstance(records, memoryview)
            try:
                error = log.append(records, state.leader_epoch)
            except StorageError as fault:
                self._disk_failed(key, fault, now_ms)
                return
            if error == ErrorCode.CORRUPT_MESSAGE:
                logger.error("%s-%d got damaged records from its leader", *key)
                self._pause(key, now_ms)
                return
            if error:
                self._give_up(key, f"what its leader sent does not fit: {error.name}")
                return
        try:
            log.update_bounds(answer.high_watermark, answer.log_start_offset)
        except StorageError as fault:
            self._disk_failed(key, fault, now_ms)
            return
        if self._states.get(key) is not state:
            return  # the records completed the copy, which is no longer fetched
        state.failures = 0
        state.lag = max(0, answer.high_watermark - log.log_end_offset)
        if log.is_held(state.lag):
            self._delayed[key] = now_ms + HOLD_MS
            self._session.drop(key)
        else:
            self._session.want(key, state.next_fetch(self._config))

    def _disk_failed(self, key: TopicPartition, fault: StorageError, now_ms: int) -> None:
        if not fault.passes:
            self._give_up(key, "its disk has failed")
            return
        if not self._states[key].failures:
            logger.warning("%s-%d is not replicated for now: %s", *key, fault)
        self._pause(key, now_ms)

    def _found_epoch(self, key: TopicPartition, answer: EpochAnswer, now_ms: int) -> None:
        state = self._about(key, Stage.TRUNCATING)
        if state is None:
            return
        if answer.error_code:
            self._refused(key, error_of(answer.error_code), now_ms)
        else:
            self._truncate(key, answer.leader_epoch, answer.end_offset)

    def _found_offset(self, key: TopicPartition, answer: OffsetAnswer, now_ms: int) -> None:
        """Apply an offset from ListOffsets. Only an unclean election makes the leader's log shorter."""
        state = self._about(key, Stage.SEEKING_END) or self._about(key, Stage.SEEKING_START)
        if state is None:
            return
        log, offset = state.log, answer.offset
        if answer.error_code:
            self._refused(key, error_of(answer.error_code), now_ms)
        elif state.stage is Stage.SEEKING_START:
            if offset > log.log_end_offset:
                logger.warning(
                    "%s-%d ended at offset %d: it is emptied and begins at offset %d, its leader's log start",
                    *key,
                    log.log_end_offset,
                    offset,
                )
                self._change(key, state, lambda: log.truncate_fully_and_start_at(offset))
            else:
                self._enter(key, state, Stage.FETCHING)
        elif offset < log.log_end_offset:
            self._cut(key, state, offset)
        else:
            self._enter(key, state, Stage.SEEKING_START)

    def _about(self, key: TopicPartition, stage: Stage) -> FetchState | None:
        """Return the state of a partition that still waits for this response; None for any other."""
        state = self._states.get(key)
        if state is None or state.stage is not stage:
            return None
        return state if self._requested.get(key) == state.leader_epoch else None

    # -- truncation --------------------------------------------------------------------------------------

    def _truncate(self, key: TopicPartition, epoch: int, end_offset: int) -> None:
        state = self._states[key]
        cut = truncation(state.log, epoch, end_offset)
        is_done = cut.is_final or self._config.truncates_on_fetch
        self._cut(key, state, cut.offset, Stage.FETCHING if is_done else Stage.TRUNCATING)

    def _cut(self, key: TopicPartition, state: FetchState, offset: int, then: Stage = Stage.FETCHING) -> None:
        log = state.log
        if offset < log.log_end_offset:
            logger.info(
                "%s-%d is truncated to offset %d from its log end %d", *key, offset, log.log_end_offset
            )
        self._change(key, state, lambda: log.truncate_to(offset), then)

    def _change(
        self,
        key: TopicPartition,
        state: FetchState,
        change: Callable[[], None],
        then: Stage = Stage.FETCHING,
    ) -> None:
        try:
            change()
        except StorageError:
            self._give_up(key, "its disk has failed")
        else:
            self._enter(key, state, then)

    # -- stages and pauses -------------------------------------------------------------------------------

    def _enter(self, key: TopicPartition, state: FetchState, stage: Stage) -> None:
        """Set the stage of a partition."""
        state.stage = stage
        if stage is Stage.FETCHING:
            self._not_fetching.pop(key, None)
            self._session.want(key, state.next_fetch(self._config))
        else:
            self._not_fetching[key] = state
            self._session.drop(key)

    def _refused(self, key: TopicPartition, error: ErrorCode, now_ms: int) -> None:
        """Pause a partition after an error; after FENCED_LEADER_EPOCH, wait for its next role instead."""
        if error == ErrorCode.FENCED_LEADER_EPOCH:
            # This error follows every election: the role with the new epoch has not arrived yet.
            self._give_up(key, "its leader is in a later epoch", logging.INFO)
        else:
            self._pause(key, now_ms)

    def _pause(self, key: TopicPartition, now_ms: int) -> None:
        state = self._states[key]
        longest = self._config.backoff_ms
        delay_ms = min(longest, FIRST_BACKOFF_MS << min(state.failures, 16))
        state.failures += 1
        self._delayed[key] = now_ms + delay_ms
        self._session.drop(key)

    def _give_up(self, key: TopicPartition, reason: str, level: int = logging.WARNING) -> None:
        logger.log(level, "%s-%d is not followed until its next role: %s", *key, reason)
        self._drop(key)
        self.failed.add(key)

    def check_invariants(self) -> None:
        """Assert that each partition is in one stage, and fetches from its log end."""
        assert not self.failed & self._states.keys()
        assert self._delayed.keys() <= self._states.keys()
        wanted = self._session.wanted
        for key, state in self._states.items():
            assert (state.stage is Stage.FETCHING) == (key not in self._not_fetching)
            assert (key in wanted) == (key not in self._delayed and key not in self._not_fetching)
            assert key not in wanted or self._session.wants(key).offset == state.log.log_end_offset
        assert self._states.keys() >= set(wanted)
