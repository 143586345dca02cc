"""Several brokers of one cluster, each a candidate for the controller's office, over one store; a judge of
every write, and brokers that die, return and answer late.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Self

from kcompat.cluster import znodes
from kcompat.cluster.control_requests import LeaderAndIsr, Reply, StopReplica, UpdateConfigs, UpdateMetadata
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.config.broker import BrokerConfig, ConfigFeed
from kcompat.controller import loading
from kcompat.controller.controller import Controller
from kcompat.controller.controller_election import RETRY_MS, ControllerElection
from kcompat.controller.isr_changes import AlterPartition, ProposedIsr
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import ANY_VERSION, Check, Create, Delete, SetData
from kcompat.store.process_store import ProcessStore
from support.controlled_brokers import register
from support.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.cluster.control_requests import Answered, ControlRequest, Role
    from kcompat.controller.isr_changes import IsrAnswers
    from kcompat.controller.state import ControllerState, Event, RegisteredBroker
    from kcompat.promise import Promise
    from kcompat.store.interface import Op, OpResult, SetAcl
    from kcompat.store.process_session import ProcessSession

Key = tuple[str, int]


class JudgedStore(ProcessStore):
    """Looks at every write of a partition's state, by whomever."""

    states: dict[str, znodes.StoredPartitionState]

    async def commit(self, session_id: int, ops: Sequence[Op | SetAcl]) -> list[OpResult]:
        results = await super().commit(session_id, ops)
        for op in ops:
            if isinstance(op, Create | SetData | Delete) and op.path.endswith("/state"):
                self._judge(op, ops[0])
        return results

    def _judge(self, op: Create | SetData | Delete, first: Op | SetAcl) -> None:
        """I1, I2, I7 and I9."""
        if isinstance(op, Delete):
            del self.states[op.path]
            return
        new = znodes.decode_partition_state(op.data or b"")
        before = self.states.get(op.path)
        self.states[op.path] = new
        assert isinstance(first, Check), "guarded"
        assert first.path == znodes.CONTROLLER_EPOCH
        if before is None:
            assert isinstance(op, Create)
            assert (new.leader_epoch, new.leader) == (0, new.isr[0])
            return
        assert isinstance(op, SetData)
        assert op.version != ANY_VERSION
        assert new.leader_epoch >= before.leader_epoch
        assert new.controller_epoch >= before.controller_epoch
        if new.leader_epoch == before.leader_epoch:
            assert new.leader == before.leader, "one leader in an epoch"
        if new.leader != -1:
            assert new.leader in before.isr, "a clean election"
            assert set(new.isr) <= set(before.isr) or new.leader_epoch == before.leader_epoch


class ModelBroker:
    """Takes roles and makes logs as a broker does; while it is held, it answers nobody."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.config = ConfigFeed(BrokerConfig({}))
        self.logs: dict[Key, bytes] = {}
        self.is_held = False
        self.life = 0
        self.start_anew()

    def start_anew(self) -> None:
        """Forget everything but the logs."""
        self.cluster = MetadataCache("c")
        self.roles: dict[Key, Role] = {}
        self.epoch = -1
        self.controller_epoch = -1
        self.waiting: deque[tuple[ControlRequest, Answered]] = deque()

    def take(self, news: ControlRequest, answered: Answered) -> None:
        """Act now, or when it is released."""
        if self.is_held:
            self.waiting.append((news, answered))
        else:
            answered(self._act(news))

    def release(self) -> None:
        """Act on what waits."""
        self.is_held = False
        while self.waiting:
            news, answered = self.waiting.popleft()
            answered(self._act(news))

    def _act(self, news: ControlRequest) -> Reply:
        if isinstance(news, UpdateConfigs):
            self.cluster.apply(news)
            return Reply()
        if news.controller_epoch < self.controller_epoch:
            return Reply(ErrorCode.STALE_CONTROLLER_EPOCH)
        self.controller_epoch = news.controller_epoch
        match news:
            case LeaderAndIsr():
                return Reply(partitions=self._take_roles(news))
            case StopReplica():
                for part in news.partitions:
                    key = (part.topic, part.index)
                    if part.delete:
                        self.roles.pop(key, None)
                        self.logs.pop(key, None)
            case UpdateMetadata():
                self.cluster.apply(news)
        return Reply()

    def _take_roles(self, news: LeaderAndIsr) -> dict[Key, ErrorCode]:
        refused = {}
        for part in news.partitions:
            key = (part.topic, part.index)
            known = self.roles.get(key)
            assert self.broker_id in part.role.replicas
            if self.logs.get(key) not in (None, part.topic_id):
                known = None  # a log of an earlier topic of this name
            if known is not None and part.role.leader_epoch <= known.leader_epoch:
                refused[key] = ErrorCode.STALE_CONTROLLER_EPOCH
                continue
            self.roles[key] = part.role
            self.logs[key] = part.topic_id
        return refused


class Way:
    """A controller's connection to one life of a broker."""

    def __init__(self, broker: ModelBroker) -> None:
        self._broker = broker
        self._life = broker.life

    def give(self, news: ControlRequest, answered: Answered) -> None:
        """A broker that has died or registered anew never answers."""
        if self._broker.life == self._life:
            self._broker.take(news, answered)

    def close(self) -> None:
        """Answers are nobody's any more."""


class Member:
    """One broker with its session and its candidacy."""

    session: ProcessSession
    controller_election: ControllerElection

    def __init__(self, broker_id: int) -> None:
        self.broker = ModelBroker(broker_id)
        self.is_alive = True


class ControllersFixture:
    """Brokers 1 to `count`."""

    def __init__(self, count: int) -> None:
        self.members = {broker_id: Member(broker_id) for broker_id in range(1, count + 1)}
        self.clock = VirtualClock()
        self.random = Random(1)
        self.leaving: set[int] = set()
        """Brokers that have asked to be relieved of their leaderships, and will stop."""

    async def __aenter__(self) -> Self:
        self.store = store = JudgedStore.in_memory(self.clock.now_ms)
        assert isinstance(store, JudgedStore)
        store.states = {}
        self.outsider = await store.session()
        await loading.prepare(self.outsider)
        for broker_id, member in self.members.items():
            member.session = await store.session()
            await self._stand(broker_id, member)
        return self

    async def __aexit__(self, *_: object) -> None:
        for member in self.members.values():
            member.session.resume()
            await member.controller_election.stop()
        await self.store.close()

    def _port_of(self, registered: RegisteredBroker) -> Way:
        return Way(self.members[registered.info.id].broker)

    async def _stand(self, broker_id: int, member: Member) -> None:
        """Register a broker that has just begun, and have it stand for election."""
        broker = member.broker
        broker.start_anew()
        broker.epoch = await register(member.session, broker_id)
        controller = Controller(
            broker_id, member.session, self._port_of, self.clock, broker.config, broker.cluster
        )
        member.controller_election = ControllerElection(broker_id, member.session, controller, self.clock)
        starting = asyncio.ensure_future(member.controller_election.start())
        await self.run()
        starting.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def run(self, steps: int = 60) -> None:
        """Let everybody go on for a while."""
        for _ in range(steps):
            await asyncio.sleep(0)

    # -- what happens to brokers -------------------------------------------------------------------------

    async def kill(self, broker_id: int) -> None:
        """A broker dies, and its session ends."""
        member = self.members[broker_id]
        if member.is_alive:
            member.is_alive = False
            member.broker.life += 1
            member.broker.waiting.clear()
            stopping = asyncio.ensure_future(member.controller_election.stop())
            await member.session.close()
            await asyncio.wait([stopping])

    async def revive(self, broker_id: int) -> None:
        """A dead broker starts again; a live one dies first, before anybody has looked."""
        await self.kill(broker_id)
        self.leaving.discard(broker_id)
        member = self.members[broker_id]
        member.is_alive = True
        member.session = await self.store.session()
        await self._stand(broker_id, member)

    # -- questions ---------------------------------------------------------------------------------------

    def controllers(self) -> list[int]:
        """The brokers that take themselves for the controller."""
        return [each for each, member in self.members.items() if member.controller_election.is_here]

    def submit(self, event: Event[Any]) -> Promise[Any] | None:
        """Ask whoever is the controller."""
        for member in self.members.values():
            if member.controller_election.is_here:
                return member.controller_election.submit(event)
        return None

    def propose(self, broker_id: int, choose: Callable[[Role], Sequence[int]]) -> None:
        """A broker proposes an ISR for each partition that it takes itself for the leader of, and takes
        over what is accepted.
        """
        member = self.members[broker_id]
        for key, role in list(member.broker.roles.items()):
            if role.leader != broker_id:
                continue
            isr = tuple((each, -1) for each in dict.fromkeys((broker_id, *choose(role))))
            proposal = ProposedIsr(key[0], key[1], role.leader_epoch, role.partition_epoch, isr)
            promise = self.submit(AlterPartition(broker_id, member.broker.epoch, [proposal]))
            if promise is not None:
                promise.then(partial(self._proposed, member.broker, key))

    @staticmethod
    def _proposed(broker: ModelBroker, key: Key, answers: IsrAnswers) -> None:
        for row in answers.rows:
            known, partition = broker.roles.get(key), row.partition
            if known is None or partition is None or known.leader_epoch != partition.leader_epoch:
                continue
            if partition.partition_epoch >= known.partition_epoch:
                broker.roles[key] = _with_isr(known, partition.isr, partition.partition_epoch)

    async def judged_touch(self, path: str, data: bytes, version: int, epoch_version: int) -> None:
        """Write a partition's state once more, as some controller."""
        await self.outsider.multi(
            [Check(znodes.CONTROLLER_EPOCH, epoch_version), SetData(path, data, version)]
        )

    async def stored(self) -> ControllerState:
        """Return the state that a new controller would load."""
        return await loading.load(self.outsider, 0, 0, 0)

    async def heal(self) -> None:
        """Everybody is alive, connected and answers; leaders bring back whoever is out of sync."""
        for broker_id, member in self.members.items():
            member.session.resume()
            if not member.is_alive or broker_id in self.leaving:
                await self.revive(broker_id)
            member.broker.release()
        for _ in range(6):
            self.clock.advance(RETRY_MS)
            await self.run()
            for broker_id in self.members:
                self.propose(broker_id, lambda role: role.replicas)
            await self.run()


def _with_isr(role: Role, isr: tuple[int, ...], partition_epoch: int) -> Role:
    return type(role)(
        role.leader, role.leader_epoch, isr, role.replicas, partition_epoch, role.adding, role.removing
    )
