"""ACLs that any broker changes, and all brokers put in force."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcompat.protocol.errors import ErrorCode
from kcompat.security import acl_nodes
from kcompat.security.acl_authorizer import AclAuthorizer
from kcompat.security.acl_store import AT_ONCE, AclStore
from kcompat.security.acls import Acl, AclEntry, AclFilter, PatternType, PermissionType, ResourcePattern
from kcompat.security.operations import Operation, ResourceType
from kcompat.store.process_store import ProcessStore
from support.controllers import answer
from support.payloads import json_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kcompat.store.process_session import ProcessSession

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
READ = AclEntry(Operation.READ, "User:alice", "*", PermissionType.ALLOW)
WRITE = AclEntry(Operation.WRITE, "User:alice", "*", PermissionType.ALLOW)
ORDERS = ResourcePattern(ResourceType.TOPIC, "orders")
ORD = ResourcePattern(ResourceType.TOPIC, "ord", PREFIXED)
EVERYTHING = AclFilter(ResourceType.ANY, None, PatternType.ANY, None, None, Operation.ANY, PermissionType.ANY)


def exactly(pattern: ResourcePattern) -> AclFilter:
    return AclFilter(pattern.type, pattern.name, pattern.kind, None, None, Operation.ANY, PermissionType.ANY)


class Broker:
    """One broker's ACLs."""

    def __init__(self, session: ProcessSession, *, escapes: bool) -> None:
        self.session = session
        self.authorizer = AclAuthorizer()
        self.acls = AclStore(session, self, lambda: 1_700_000_000_000, escapes=escapes)
        self._changed = asyncio.Event()

    def find(self, wanted: AclFilter = EVERYTHING) -> list[Acl]:
        return self.authorizer.find(wanted)

    def patterns(self) -> list[ResourcePattern]:
        return self.authorizer.patterns()

    def replace(self, pattern: ResourcePattern, entries: frozenset[AclEntry]) -> None:
        self.authorizer.replace(pattern, entries)
        self._changed.set()

    async def until(self, *acls: Acl) -> None:
        async with asyncio.timeout(10):
            while self.find() != sorted(acls):
                self._changed.clear()
                await self._changed.wait()


class Brokers:
    """Brokers that share a store."""

    def __init__(self, store: ProcessStore) -> None:
        self.store = store
        self.started: list[Broker] = []

    async def broker(self, *, escapes: bool = True) -> Broker:
        broker = Broker(await self.store.session(), escapes=escapes)
        self.started.append(broker)
        await broker.acls.start()
        return broker


@pytest.fixture
async def brokers() -> AsyncIterator[Brokers]:
    store = ProcessStore.in_memory(lambda: 1_700_000_000_000)
    shared = Brokers(store)
    yield shared
    for broker in shared.started:
        await broker.acls.stop()
    await store.close()


async def test_an_acl_is_in_force_here_when_answered_and_then_on_all_brokers(brokers: Brokers) -> None:
    one, two = await brokers.broker(), await brokers.broker()
    acls = [Acl(ORDERS, READ), Acl(ORDERS, WRITE), Acl(ORD, READ), Acl(ORDERS, READ)]
    assert await answer(one.acls.create(acls)) is ErrorCode.NONE
    assert one.find() == sorted(set(acls))
    await two.until(*sorted(set(acls)))
    nodes = brokers.store.tree.nodes
    rows = [
        {"principal": "User:alice", "permissionType": "Allow", "operation": operation, "host": "*"}
        for operation in ("Read", "Write")
    ]
    assert json_of(nodes["/kafka-acl/Topic/orders"].data) == {"version": 1, "acls": rows}
    assert json_of(nodes["/kafka-acl-extended/prefixed/Topic/ord"].data) == {"version": 1, "acls": rows[:1]}
    assert nodes["/kafka-acl-changes/acl_changes_0000000000"].data == b"TOPIC:orders"
    assert json_of(nodes["/kafka-acl-extended-changes/acl_changes_0000000000"].data) == {
        "version": 1, "resourceType": "TOPIC", "name": "ord", "patternType": "PREFIXED",
    }  # fmt: skip

    assert await answer(two.acls.delete([exactly(ORDERS)])) == [[Acl(ORDERS, READ), Acl(ORDERS, WRITE)]]
    assert two.find() == [Acl(ORD, READ)]
    await one.until(Acl(ORD, READ))
    assert "/kafka-acl/Topic/orders" not in nodes


async def test_an_acl_that_exists_changes_nothing(brokers: Brokers) -> None:
    one = await brokers.broker()
    for _ in range(2):
        assert await answer(one.acls.create([Acl(ORDERS, READ)])) is ErrorCode.NONE
    assert await answer(one.acls.create([])) is ErrorCode.NONE
    assert await answer(one.acls.delete([exactly(ORD)])) == [[]]
    assert len(await one.session.children("/kafka-acl-changes")) == 1


async def test_each_filter_tells_all_that_it_matches(brokers: Brokers) -> None:
    one = await brokers.broker()
    await answer(one.acls.create([Acl(ORDERS, READ), Acl(ORD, WRITE)]))
    deleted = await answer(one.acls.delete([EVERYTHING, exactly(ORDERS), exactly(ORDERS)]))
    assert deleted == [sorted([Acl(ORDERS, READ), Acl(ORD, WRITE)]), [Acl(ORDERS, READ)], [Acl(ORDERS, READ)]]
    assert one.find() == []


async def test_brokers_that_change_the_same_pattern_lose_nothing(brokers: Brokers) -> None:
    group = [await brokers.broker() for _ in range(4)]
    acls = [
        Acl(ORDERS, AclEntry(Operation.READ, f"User:{number}", "*", PermissionType.ALLOW))
        for number in range(12)
    ]
    changes = [group[number % 4].acls.create([acl]) for number, acl in enumerate(acls)]
    assert [await answer(change) for change in changes] == [ErrorCode.NONE] * len(acls)
    for broker in group:
        await broker.until(*acls)
    removals = [
        group[number % 4].acls.delete([replace(exactly(ORDERS), principal=acl.entry.principal)])
        for number, acl in enumerate(acls)
    ]
    assert [await answer(removal) for removal in removals] == [[[acl]] for acl in acls]
    for broker in group:
        await broker.until()
    assert await group[0].session.children("/kafka-acl/Topic") == []


async def test_an_acl_that_this_broker_has_not_heard_of_is_deleted(brokers: Brokers) -> None:
    one, two = await brokers.broker(), await brokers.broker()
    two.acls.abandon()
    await answer(one.acls.create([Acl(ORDERS, READ)]))
    assert await answer(two.acls.delete([exactly(ORDERS)])) == [[Acl(ORDERS, READ)]]


async def test_what_was_missed_is_read_then(brokers: Brokers) -> None:
    one, two = await brokers.broker(), await brokers.broker()
    await answer(one.acls.create([Acl(ORDERS, READ)]))
    await two.until(Acl(ORDERS, READ))
    two.session.suspend()
    await answer(one.acls.delete([EVERYTHING]))
    await answer(one.acls.create([Acl(ORD, READ)]))
    assert two.find() == [Acl(ORDERS, READ)]
    two.session.resume()
    await two.until(Acl(ORD, READ))
    await two.session.expire()
    assert await answer(two.acls.create([Acl(ORDERS, READ)])) is ErrorCode.REQUEST_TIMED_OUT
    assert await answer(two.acls.delete([EVERYTHING])) is ErrorCode.REQUEST_TIMED_OUT
    await answer(one.acls.create([Acl(ORDERS, WRITE)]))
    await two.session.renew()
    await two.until(Acl(ORD, READ), Acl(ORDERS, WRITE))


async def test_acls_are_in_force_after_a_start(brokers: Brokers) -> None:
    one = await brokers.broker()
    acls = [Acl(ResourcePattern(ResourceType.GROUP, name), READ) for name in ("a/b", "50%", ".", "*")]
    await answer(one.acls.create(acls))
    late = await brokers.broker()
    assert late.find() == sorted(acls)


async def test_many_patterns_take_several_transactions(brokers: Brokers) -> None:
    one = await brokers.broker()
    acls = [Acl(ResourcePattern(ResourceType.TOPIC, f"t{number}"), READ) for number in range(2 * AT_ONCE + 1)]
    assert await answer(one.acls.create(acls)) is ErrorCode.NONE
    assert one.find() == sorted(acls)
    (deleted,) = await answer(one.acls.delete([EVERYTHING]))  # type: ignore[misc]
    assert deleted == sorted(acls)
    assert one.find() == []


async def test_acls_that_cannot_be_read_deny_everything_until_they_are_deleted(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    one = await brokers.broker()
    await answer(one.acls.create([Acl(ORD, READ)]))
    await one.session.create("/kafka-acl/Topic/orders", b"{")
    late = await brokers.broker()
    assert Acl(ORDERS, AclEntry(Operation.ALL, "User:*", "*", PermissionType.DENY)) in late.find()
    assert Acl(ORD, READ) in late.find()
    assert "cannot be read" in caplog.text
    assert await answer(late.acls.create([Acl(ORDERS, READ)])) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert await answer(late.acls.delete([exactly(ORDERS)])) == [
        [Acl(ORDERS, AclEntry(Operation.ALL, "User:*", "*", PermissionType.DENY))]
    ]
    assert await answer(late.acls.create([Acl(ORDERS, READ)])) is ErrorCode.NONE


async def test_a_notification_that_says_nothing_harms_no_other(brokers: Brokers) -> None:
    one, other = await brokers.broker(), await brokers.broker()
    await one.session.create("/kafka-acl-changes/acl_changes_", b"nothing", sequential=True)
    await one.session.create("/kafka-acl/Topic/orders", acl_nodes.encode_entries([READ]))
    await one.session.create("/kafka-acl-changes/acl_changes_", b"Topic:orders", sequential=True)
    await other.until(Acl(ORDERS, READ))
