"""Streams groups on a coordinator in memory: members that heartbeat, and topics that are made for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.controller.values import TopicResult
from kcompat.group.coordinator_config import GroupCoordinatorConfig
from kcompat.group.kinds.streams.group import StreamsGroup
from kcompat.group.kinds.streams.requests import StreamsHeartbeatRequest
from kcompat.group.kinds.streams.settings import StreamsGroupConfig
from kcompat.group.kinds.streams.tasks import task_sets
from kcompat.group.kinds.streams.topology import CopartitionGroup, Subtopology, TopicInfo, Topology
from kcompat.group.kinds.table import STREAMS_KIND
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode
from support.default_settings import with_defaults
from support.group_coordinators import GROUP, REBALANCE_MS, ConsumerGroupFixture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.controller.values import TopicSpec
    from kcompat.group.kinds.streams.configured import StatusCode
    from kcompat.group.kinds.streams.requests import DescribedStreamsGroup, StreamsHeartbeatAnswer

AT_ONCE = with_defaults(
    GroupCoordinatorConfig,
    streams=with_defaults(StreamsGroupConfig, initial_delay_ms=0, assignment_interval_ms=0),
)
"""The first target does not wait for more members, nor the next one for the last."""


def topology(*subtopologies: Subtopology, epoch: int = 0) -> Topology:
    """A topology of these."""
    return Topology(epoch, {each.subtopology_id: each for each in subtopologies})


def reads(*topics: str, name: str = "0", **fields: Any) -> Subtopology:
    """A subtopology that reads these topics."""
    return Subtopology(name, tuple(topics), **fields)


STATELESS = topology(reads("t"))
STATEFUL = topology(
    reads("t", state_changelog_topics=(TopicInfo("log", configs=(("cleanup.policy", "compact"),)),))
)
IN_TWO_STEPS = topology(
    reads("t", repartition_sink_topics=("between",)),
    reads(
        name="1",
        repartition_source_topics=(TopicInfo("between"),),
        state_changelog_topics=(TopicInfo("log"),),
        copartition_groups=(CopartitionGroup(repartition_source_topics=(0,)),),
    ),
)


class TopicMaker:
    """A controller that makes topics a little later, unless it has an error."""

    def __init__(self, fixture: StreamsGroupFixture) -> None:
        self._fixture = fixture
        self.error = ErrorCode.NONE
        self.message: str | None = None
        self.asked: list[TopicSpec] = []

    def create(self, specs: Sequence[TopicSpec]) -> Promise[list[TopicResult]]:
        self.asked += specs
        made: Promise[list[TopicResult]] = Promise()
        self._fixture.clock.call_later(0, lambda: self._make(specs, made))
        return made

    def _make(self, specs: Sequence[TopicSpec], made: Promise[list[TopicResult]]) -> None:
        if not self.error:
            for spec in specs:
                self._fixture.make(spec.name, spec.num_partitions)
        made.complete([TopicResult(spec.name, self.error, self.message) for spec in specs])


class StreamsGroupFixture(ConsumerGroupFixture):
    """One broker's group coordinator, with the topics `t` (3 partitions) and `u` (2)."""

    def __init__(self, config: GroupCoordinatorConfig | None = None) -> None:
        self.maker = TopicMaker(self)
        super().__init__(config or AT_ONCE, make_topics=self.maker.create)
        self.has: dict[str, tuple[dict[str, list[int]], dict[str, list[int]]]] = {}
        """Active and standby tasks of each member, from the last answer to it."""

    def stream(self, member_id: str, epoch: int | None = None, **fields: Any) -> StreamsHeartbeatAnswer:
        """StreamsGroupHeartbeat, answered at once; topics that are missing are made.

        A member goes on in the epoch it was told last; it is remembered what it is told.
        """
        request = StreamsHeartbeatRequest(
            **{
                "group_id": GROUP,
                "member_id": member_id,
                "member_epoch": self.epochs.get(member_id, 0) if epoch is None else epoch,
                "client_id": "client",
                "client_host": "/127.0.0.1",
                **fields,
            }
        )
        answer = self.coordinator.modern_heartbeat(STREAMS_KIND, request).value
        self.coordinator.internal_topics.make(answer.missing, 10_000)
        self.clock.advance(0)
        if not answer.error:
            self.epochs[answer.member_id] = max(answer.member_epoch, 0)
            if answer.tasks is not None:
                self.has[member_id] = (
                    {name: sorted(numbers) for name, numbers in answer.tasks.active.items()},
                    {name: sorted(numbers) for name, numbers in answer.tasks.standby.items()},
                )
        return answer

    def enter_streams(
        self, member_id: str, whole: Topology = STATELESS, **fields: Any
    ) -> StreamsHeartbeatAnswer:
        """Join with all that a member has to say, as the only one of its process."""
        return self.stream(
            member_id,
            0,
            **{
                "topology": whole,
                "rebalance_timeout_ms": REBALANCE_MS,
                "process_id": f"process of {member_id}",
                "active": {},
                "standby": {},
                "warmup": {},
                **fields,
            },
        )

    def report_tasks(self, member_id: str, **fields: Any) -> StreamsHeartbeatAnswer:
        """Heartbeat with what the member has: all that it was told to."""
        active, standby = self.has.get(member_id, ({}, {}))
        return self.stream(
            member_id,
            **{
                "active": task_sets(active.items()),
                "standby": task_sets(standby.items()),
                "warmup": {},
                **fields,
            },
        )

    def leave_streams(self, member_id: str, **fields: Any) -> StreamsHeartbeatAnswer:
        return self.stream(member_id, -1, **fields)

    def settle_streams(self, *member_ids: str, rounds: int = 4) -> None:
        """Let the members heartbeat until each has its target."""
        for _ in range(rounds):
            for member_id in member_ids:
                self.report_tasks(member_id)

    def described(self, group_id: str = GROUP) -> DescribedStreamsGroup:
        """Return the description of the group."""
        return self.coordinator.describe_modern(STREAMS_KIND, group_id)

    def streamers(self, group_id: str = GROUP) -> StreamsGroup:
        """Return the streams group from the coordinator's memory."""
        return self.group_in_memory(StreamsGroup, group_id)


def active(answer: StreamsHeartbeatAnswer) -> dict[str, list[int]] | None:
    """The active tasks that a member is told, None where they are no news."""
    if answer.tasks is None:
        return None
    return {name: sorted(numbers) for name, numbers in answer.tasks.active.items()}


def codes(answer: StreamsHeartbeatAnswer) -> list[StatusCode]:
    """Return the codes of the problems in an answer."""
    return [status.code for status in answer.statuses]
