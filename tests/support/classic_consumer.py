"""A consumer of the classic protocol, which joins a group of a `ConsumerGroupFixture`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.protocol.errors import ErrorCode
from support.consumer_texts import assigned, assignment, subscription

if TYPE_CHECKING:
    from kcompat.group.requests import JoinAnswer, SyncAnswer
    from kcompat.promise import Promise
    from support.consumer_texts import Partitions
    from support.group_coordinators import ConsumerGroupFixture

AGAIN = (
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


class ClassicConsumer:
    """A consumer of the classic protocol that does one thing at a time, when it is polled.

    `eager`: it gives everything up before it joins, as with the range assignor; otherwise it keeps what it
    has, and takes note of what it was assigned (cooperative).
    """

    def __init__(
        self,
        fixture: ConsumerGroupFixture,
        topics: str = "t",
        *,
        instance_id: str | None = None,
        eager: bool = True,
    ) -> None:
        self.fixture = fixture
        self.topics = topics
        self.instance_id = instance_id
        self.eager = eager
        self.member_id = ""
        self.generation = -1
        self.owned: Partitions = frozenset()
        self.joining: Promise[JoinAnswer] | None = None
        self.syncing: Promise[SyncAnswer] | None = None
        self.is_member = False
        """Whether it has its partitions of this generation."""

    def poll(self) -> None:
        """Do the next thing: take an answer, heartbeat, or join."""
        if self.joining is not None:
            self._take_join(self.joining)
        elif self.syncing is not None:
            self._take_sync(self.syncing)
        elif not self.is_member:
            self.join()
        else:
            error = self.fixture.heartbeat(self.member_id, self.generation, instance_id=self.instance_id)
            self._note(error)

    def join(self) -> None:
        """Send JoinGroup; `joining` is the promise of the answer."""
        if self.eager:
            self.owned = frozenset()
        self.is_member = False
        data = subscription(self.topics, self.owned)
        self.joining = self.fixture.join(
            self.member_id,
            instance_id=self.instance_id,
            protocols=(("range", data),),
        )

    def refresh(self) -> None:
        """Hear of more partitions: join again with the next poll."""
        self.is_member = False

    def leave(self) -> None:
        """LeaveGroup, or for a static member: stop without a word."""
        if self.instance_id is None and self.member_id:
            self.fixture.leave(self.member_id)
        self.forget()

    def forget(self) -> None:
        """Lose everything, as a process that is killed."""
        self.member_id, self.generation, self.owned = "", -1, frozenset()
        self.joining = self.syncing = None
        self.is_member = False

    def _take_join(self, joining: Promise[JoinAnswer]) -> None:
        if not joining.done:
            return
        self.joining, answer = None, joining.value
        if answer.error is not ErrorCode.NONE:
            self._note(answer.error)
            return
        self.member_id, self.generation = answer.member_id, answer.generation
        shares: dict[str, bytes] = {}
        if answer.leader == self.member_id:
            shares = self._share_out([member.member_id for member in answer.members])
        self.syncing = self.fixture.sync(
            self.member_id,
            self.generation,
            shares,
            instance_id=self.instance_id,
            protocol_type=answer.protocol_type,
            protocol_name=answer.protocol_name,
        )

    def _share_out(self, members: list[str]) -> dict[str, bytes]:
        """All partitions of its topics in turn; with one assignor for all, cooperative ones do so too."""
        everything = [
            (topic, index)
            for topic in sorted(self.topics)
            if topic in self.fixture.image.topics
            for index in self.fixture.image.topics[topic].partitions
        ]
        return {
            member_id: assignment(frozenset(everything[place :: len(members)]))
            for place, member_id in enumerate(sorted(members))
        }

    def _take_sync(self, syncing: Promise[SyncAnswer]) -> None:
        if not syncing.done:
            return
        self.syncing, answer = None, syncing.value
        if answer.error is not ErrorCode.NONE:
            self._note(answer.error)
            return
        told = assigned(answer.assignment)
        self.is_member = True
        gives_up = bool(self.owned - told)
        self.owned = told
        if gives_up and not self.eager:
            self.join()

    def _note(self, error: ErrorCode) -> None:
        if error in AGAIN:
            self.is_member = False
        elif error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.forget()
        elif error is ErrorCode.ILLEGAL_GENERATION:
            self.is_member, self.generation, self.owned = False, -1, frozenset()
        else:
            assert error is ErrorCode.NONE, error
