"""Decisions by ACLs, and filters of ACLs."""

from __future__ import annotations

import pytest

from kcompat.security.acls import (
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    Acl,
    AclEntry,
    AclFilter,
    AclTable,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from kcompat.security.authorizer import CLUSTER, Resource
from kcompat.security.operations import Operation, ResourceType
from kcompat.security.principals import USER, Principal

ALICE, BOB = Principal(USER, "alice"), Principal(USER, "bob")
HOST = "10.0.0.7"
ORDERS = Resource.topic("orders")
READ, WRITE, DESCRIBE, ALL = Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALL


def rule(
    operation: Operation = READ,
    name: str = "orders",
    principal: str = "User:alice",
    host: str = "*",
    *,
    prefixed: bool = False,
    denies: bool = False,
    of: ResourceType = ResourceType.TOPIC,
) -> Acl:
    kind = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    permission = PermissionType.DENY if denies else PermissionType.ALLOW
    return Acl(ResourcePattern(of, name, kind), AclEntry(operation, principal, host, permission))


def table(*acls: Acl, allows_without_acls: bool = False) -> AclTable:
    made = AclTable(allows_without_acls=allows_without_acls)
    for acl in acls:
        made.replace(acl.pattern, made.entries_of(acl.pattern) | {acl.entry})
    return made


def may(
    made: AclTable, operation: Operation = READ, resource: Resource = ORDERS, who: Principal = ALICE
) -> bool:
    return made.decide(who, HOST, operation, resource).is_allowed


def test_nothing_is_allowed_without_acls_unless_configured() -> None:
    assert table().decide(ALICE, HOST, READ, ORDERS) == DEFAULT_DENY
    assert table(allows_without_acls=True).decide(ALICE, HOST, READ, ORDERS) == DEFAULT_ALLOW


def test_an_acl_of_another_principal_takes_the_default_from_all() -> None:
    made = table(rule(principal="User:bob"), allows_without_acls=True)
    assert made.decide(ALICE, HOST, READ, ORDERS) == DEFAULT_DENY
    assert made.decide(ALICE, HOST, READ, Resource.topic("payments")) == DEFAULT_ALLOW
    assert made.decide(ALICE, HOST, READ, Resource.group("orders")) == DEFAULT_ALLOW


@pytest.mark.parametrize(
    ("acl", "is_allowed"),
    [
        (rule(), True),
        (rule(principal="User:*"), True),
        (rule(host=HOST), True),
        (rule(name="*"), True),
        (rule(name="ord", prefixed=True), True),
        (rule(name="orders", prefixed=True), True),
        (rule(ALL), True),
        (rule(principal="User:Alice"), False),
        (rule(principal="Group:alice"), False),
        (rule(principal="*"), False),
        (rule(principal="alice"), False),
        (rule(host="10.0.0"), False),
        (rule(host="10.0.0.8"), False),
        (rule(name="order"), False),
        (rule(name="*", prefixed=True), False),
        (rule(name="orders-", prefixed=True), False),
        (rule(WRITE), False),
        (rule(of=ResourceType.GROUP), False),
        (rule(denies=True), False),
    ],
    ids=lambda value: value.pattern.name if isinstance(value, Acl) else "",
)
def test_one_acl(acl: Acl, is_allowed: bool) -> None:
    assert may(table(acl)) is is_allowed


@pytest.mark.parametrize(
    "stronger", [rule(denies=True), rule(ALL, "*", denies=True), rule(name="o", prefixed=True, denies=True)]
)
def test_denying_wins_however_general_it_is(stronger: Acl) -> None:
    assert not may(table(rule(), rule(ALL, "*"), rule(name="orders", prefixed=True), stronger))


@pytest.mark.parametrize("implying", [READ, WRITE, Operation.DELETE, Operation.ALTER])
def test_describe_is_implied_by_allowing_and_not_by_denying(implying: Operation) -> None:
    assert may(table(rule(implying)), DESCRIBE)
    assert may(table(rule(DESCRIBE), rule(implying, denies=True)), DESCRIBE)
    assert not may(table(rule(DESCRIBE, denies=True), rule(implying)), DESCRIBE)


def test_alter_configs_implies_describe_configs() -> None:
    assert may(table(rule(Operation.ALTER_CONFIGS)), Operation.DESCRIBE_CONFIGS)
    assert not may(table(rule(Operation.ALTER)), Operation.DESCRIBE_CONFIGS)
    assert not may(table(rule(Operation.CREATE)), DESCRIBE)


@pytest.mark.parametrize("host", ["2001:db8:0:0:0:0:0:1", "2001:DB8::1", "2001:db8::1"])
def test_an_address_of_ipv6_may_be_written_in_any_form(host: str) -> None:
    made = table(rule(host=host))
    assert made.decide(ALICE, "2001:db8::1", READ, ORDERS).is_allowed
    assert not made.decide(ALICE, "2001:db8::2", READ, ORDERS).is_allowed
    assert made.find(ANYTHING) == [rule(host=host)]


def test_a_resource_named_like_the_wildcard() -> None:
    assert may(table(rule(name="*")), READ, Resource.topic("*"))
    assert may(table(rule(name="*", prefixed=True)), READ, Resource.topic("*-x"))


def test_an_acl_that_is_removed_decides_no_more() -> None:
    made = table(rule(), rule(name="or", prefixed=True))
    assert made.replace(rule().pattern, frozenset())
    assert not made.replace(rule().pattern, frozenset())
    assert may(made)
    assert made.replace(rule(name="or", prefixed=True).pattern, frozenset())
    assert not may(made)
    assert made.decide(ALICE, HOST, READ, ORDERS) == DEFAULT_DENY
    assert made.patterns() == []


def test_the_deciding_acl_is_named_as_in_kafka() -> None:
    made = table(rule(), rule(ALL, "o", host=HOST, prefixed=True, denies=True), rule(name="*"))
    assert made.decide(ALICE, HOST, READ, ORDERS).rule == (
        "MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=o, patternType=PREFIXED, "
        "principal=User:alice, host=10.0.0.7, operation=ALL, permissionType=DENY))"
    )
    assert table(rule(), rule(name="*")).decide(ALICE, HOST, READ, ORDERS).rule == (
        "MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=*, patternType=LITERAL, "
        "principal=User:alice, host=*, operation=READ, permissionType=ALLOW))"
    )


@pytest.mark.parametrize(
    ("acls", "is_allowed"),
    [
        ((), False),
        ((rule(WRITE),), True),
        ((rule(ALL),), True),
        ((rule(WRITE, "x", prefixed=True),), True),
        ((rule(WRITE, "*"),), True),
        ((rule(READ),), False),
        ((rule(WRITE, principal="User:bob"),), False),
        ((rule(WRITE, host="10.0.0.8"),), False),
        ((rule(WRITE, of=ResourceType.GROUP),), False),
        ((rule(WRITE), rule(WRITE, denies=True)), False),
        ((rule(WRITE), rule(WRITE, "other", denies=True)), True),
        ((rule(WRITE), rule(WRITE, "ord", prefixed=True, denies=True)), False),
        ((rule(WRITE), rule(WRITE, "orders-", prefixed=True, denies=True)), True),
        ((rule(WRITE, "o", prefixed=True), rule(WRITE, "ord", prefixed=True, denies=True)), True),
        ((rule(WRITE, "ord", prefixed=True), rule(WRITE, "o", prefixed=True, denies=True)), False),
        ((rule(WRITE, "ord", prefixed=True), rule(WRITE, "ord", prefixed=True, denies=True)), False),
        ((rule(WRITE, "ord", prefixed=True), rule(WRITE, "ord", denies=True)), True),
        ((rule(WRITE, "*"), rule(WRITE, "o", prefixed=True, denies=True)), True),
        ((rule(WRITE), rule(ALL, "*", denies=True)), False),
    ],
)
def test_an_operation_on_any_resource(acls: tuple[Acl, ...], is_allowed: bool) -> None:
    assert table(*acls).decide_on_any(ALICE, HOST, WRITE, ResourceType.TOPIC) is is_allowed


def test_an_operation_on_any_resource_without_acls() -> None:
    made = table(rule(WRITE, "*", principal="User:bob"), allows_without_acls=True)
    assert made.decide_on_any(ALICE, HOST, WRITE, ResourceType.GROUP)
    assert not made.decide_on_any(ALICE, HOST, WRITE, ResourceType.TOPIC)
    assert made.decide_on_any(BOB, HOST, WRITE, ResourceType.TOPIC)


ANYTHING = AclFilter(ResourceType.ANY, None, PatternType.ANY, None, None, Operation.ANY, PermissionType.ANY)
STORED = (
    rule(),
    rule(ALL, "*", "User:*", HOST, denies=True),
    rule(WRITE, "ord", prefixed=True),
    rule(Operation.ALTER, CLUSTER.name, of=ResourceType.CLUSTER),
)


def filtered(**changes: object) -> list[Acl]:
    wanted = {name: changes.get(name, getattr(ANYTHING, name)) for name in AclFilter.__struct_fields__}
    return table(*STORED).find(AclFilter(**wanted))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, {0, 1, 2, 3}),
        ({"type": ResourceType.TOPIC}, {0, 1, 2}),
        ({"type": ResourceType.UNKNOWN}, set()),
        ({"kind": PatternType.LITERAL}, {0, 1, 3}),
        ({"kind": PatternType.PREFIXED}, {2}),
        ({"kind": PatternType.MATCH}, {0, 1, 2, 3}),
        ({"name": "orders"}, {0}),
        ({"name": "orders", "kind": PatternType.MATCH}, {0, 1, 2}),
        ({"name": "ord", "kind": PatternType.MATCH}, {1, 2}),
        ({"name": "or", "kind": PatternType.MATCH}, {1}),
        ({"name": "*", "kind": PatternType.MATCH}, {1}),
        ({"name": "ord"}, {2}),
        ({"name": "ord", "kind": PatternType.LITERAL}, set()),
        ({"name": ""}, set()),
        ({"principal": "User:alice"}, {0, 2, 3}),
        ({"principal": "User:*"}, {1}),
        ({"host": "*"}, {0, 2, 3}),
        ({"operation": READ}, {0}),
        ({"operation": ALL}, {1}),
        ({"permission": PermissionType.DENY}, {1}),
    ],
)
def test_a_filter(changes: dict[str, object], found: set[int]) -> None:
    assert filtered(**changes) == sorted(STORED[index] for index in found)


def test_patterns_that_a_filter_names() -> None:
    exact = AclFilter(
        ResourceType.TOPIC, "t", PatternType.LITERAL, None, None, Operation.ANY, PermissionType.ANY
    )
    assert exact.named_patterns() == (ResourcePattern(ResourceType.TOPIC, "t"),)
    both = AclFilter(ResourceType.TOPIC, "t", PatternType.ANY, None, None, Operation.ANY, PermissionType.ANY)
    assert {pattern.kind for pattern in both.named_patterns()} == {PatternType.LITERAL, PatternType.PREFIXED}
    assert ANYTHING.named_patterns() == ()
