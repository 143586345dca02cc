"""Decisions made durable: guarded, in transactions that fit, and anew where others were faster."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.controller import controllership, loading
from kcompat.controller.creation import CreateTopics
from kcompat.controller.decision_writer import MAX_TRANSACTION_BYTES, ControllerMovedError, DecisionWriter
from kcompat.controller.offline_replicas import ReplicasFailed
from kcompat.controller.values import TopicSpec
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Check, Create, SetData
from kcompat.store.process_store import ProcessStore
from support.controlled_brokers import register

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from kcompat.store.interface import Op, OpResult, SetAcl
    from kcompat.store.process_session import ProcessSession


class Transactions(ProcessStore):
    """Keeps what it was asked to do at once."""

    seen: list[Sequence[Op | SetAcl]]

    async def commit(self, session_id: int, ops: Sequence[Op | SetAcl]) -> list[OpResult]:
        self.seen.append(ops)
        return await super().commit(session_id, ops)


@pytest.fixture
async def store() -> AsyncIterator[Transactions]:
    store = Transactions.in_memory(lambda: 0)
    assert isinstance(store, Transactions)
    store.seen = []
    yield store
    await store.close()


@pytest.fixture
async def session(store: Transactions) -> ProcessSession:
    """Return the session of broker 1, which has been elected."""
    session = await store.session()
    await loading.prepare(session)
    await register(session, 1)
    assert await controllership.elect(session, 1, 0) is not None
    return session


async def writer(session: ProcessSession) -> DecisionWriter:
    stat = await session.exists("/controller_epoch")
    assert stat is not None
    return DecisionWriter(session, await loading.load(session, 1, 1, stat.version))


def create(name: str, partitions: int = 1) -> CreateTopics:
    return CreateTopics([TopicSpec(name, partitions, 1)], False, BrokerConfig({}), Random(1))


async def test_what_is_too_large_for_one_transaction_goes_in_several_each_with_the_guard(
    store: Transactions, session: ProcessSession
) -> None:
    writing = await writer(session)
    store.seen.clear()
    decision = await writing.carry_out(create("t", 4000))
    assert len(store.seen) > 1
    assert [op for ops in store.seen for op in ops[1:]] == decision.writes
    for ops in store.seen:
        assert isinstance(ops[0], Check)
        sizes = (
            len(op.path) + (len(op.data or b"") if isinstance(op, Create | SetData) else 0) for op in ops
        )
        assert sum(sizes) < MAX_TRANSACTION_BYTES


async def test_where_another_was_faster_the_event_is_decided_anew(session: ProcessSession) -> None:
    slow = await writer(session)
    await (await writer(session)).carry_out(create("t"))
    (result,) = (await slow.carry_out(create("t"))).answer
    assert result.error is ErrorCode.TOPIC_ALREADY_EXISTS


async def test_a_state_that_another_has_written_is_read_again(session: ProcessSession) -> None:
    await (await writer(session)).carry_out(create("t"))
    slow = await writer(session)
    path = "/brokers/topics/t/partitions/0/state"
    data, _ = await session.get(path)
    await session.set(path, data)
    decision = await slow.carry_out(ReplicasFailed(1, frozenset({("t", 0)})))
    (partition,) = decision.state.topics["t"].partitions
    assert (partition.leader, partition.leader_epoch, partition.partition_epoch) == (-1, 1, 2)
    _, stat = await session.get(path)
    assert stat.version == 2


async def test_a_controller_whose_epoch_is_over_writes_nothing(session: ProcessSession) -> None:
    late = await writer(session)
    await session.set("/controller_epoch", b"9")
    with pytest.raises(ControllerMovedError):
        await late.carry_out(create("t"))
    assert await session.exists("/brokers/topics/t") is None
