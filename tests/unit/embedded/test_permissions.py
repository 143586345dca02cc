from __future__ import annotations

from typing import Any

import pytest

import kcompat
from kcompat.embedded.permissions import allow, deny
from kcompat.errors import UsageError
from kcompat.security.acls import Acl, AclEntry, PatternType, PermissionType, ResourcePattern
from kcompat.security.operations import Operation, ResourceType


def test_the_package_has_both() -> None:
    assert (kcompat.allow, kcompat.deny) == (allow, deny)


@pytest.mark.parametrize(
    ("acls", "pattern", "entry"),
    [
        (
            allow("alice", "read", topic="orders"),
            ResourcePattern(ResourceType.TOPIC, "orders"),
            AclEntry(Operation.READ, "User:alice", "*", PermissionType.ALLOW),
        ),
        (
            deny("*", "ALL", group="billing-", prefix=True, host="10.0.0.7"),
            ResourcePattern(ResourceType.GROUP, "billing-", PatternType.PREFIXED),
            AclEntry(Operation.ALL, "User:*", "10.0.0.7", PermissionType.DENY),
        ),
        (
            allow("bob", "write", transactional_id="*"),
            ResourcePattern(ResourceType.TRANSACTIONAL_ID, "*"),
            AclEntry(Operation.WRITE, "User:bob", "*", PermissionType.ALLOW),
        ),
        (
            allow("bob", "idempotent_write", cluster=True),
            ResourcePattern(ResourceType.CLUSTER, "kafka-cluster"),
            AclEntry(Operation.IDEMPOTENT_WRITE, "User:bob", "*", PermissionType.ALLOW),
        ),
    ],
)
def test_an_acl_is_what_kafka_stores(
    acls: tuple[Acl, ...], pattern: ResourcePattern, entry: AclEntry
) -> None:
    assert acls == (Acl(pattern, entry),)


def test_several_operations_are_several_acls() -> None:
    acls = allow("alice", "read", "describe_configs", topic="orders")
    assert [each.entry.operation for each in acls] == [Operation.READ, Operation.DESCRIBE_CONFIGS]
    assert len({each.pattern for each in acls}) == 1


@pytest.mark.parametrize(
    ("arguments", "scope", "message"),
    [
        (("",), {"topic": "a"}, "user='' is not the name of a user"),
        ((7, "read"), {"topic": "a"}, "user=7 is not the name of a user"),
        (("User:alice", "read"), {"topic": "a"}, "use the name of the user alone, 'alice'"),
        (("alice",), {"topic": "a"}, "no operation is named: use one of all, read, write, create"),
        (("alice", "red"), {"topic": "a"}, "'red' is no operation on a topic: use one of all, read, write"),
        (
            ("alice", "write"),
            {"group": "a"},
            "'write' is no operation on a group: use one of all, read, delete",
        ),
        (("alice", None), {"group": "a"}, "None is no operation on a group"),
        (("alice", "read"), {}, "the ACL has no resource: name one of topic, group"),
        (("alice", "read"), {"topic": "a", "group": "b"}, "topic='a', group='b' does not say what"),
        (("alice", "read"), {"topics": "a"}, "topics='a' does not say what the ACL is about"),
        (("alice", "read"), {"topic": "a", "hots": "b"}, "hots='b' does not say what"),
        (("alice", "read"), {"topic": ""}, "topic='' is not a name"),
        (("alice", "read"), {"topic": ["a"]}, r"topic=\['a'\] is not a name"),
        (("alice", "create"), {"cluster": "a"}, "the cluster has no name: write cluster=True"),
        (("alice", "create"), {"cluster": True, "prefix": True}, "the cluster has no name"),
    ],
)
def test_what_cannot_be_an_acl_is_refused(arguments: Any, scope: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        allow(*arguments, **scope)
