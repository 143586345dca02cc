"""Paths and payloads of ACLs in the metadata store."""

from __future__ import annotations

import pytest

from kcompat.security import acl_nodes
from kcompat.security.acl_nodes import UnreadableAclError
from kcompat.security.acls import AclEntry, PatternType, PermissionType, ResourcePattern
from kcompat.security.operations import Operation, ResourceType
from support.payloads import json_of

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
TOPIC = ResourcePattern(ResourceType.TOPIC, "orders")
ENTRIES = frozenset(
    {
        AclEntry(Operation.READ, "User:alice", "*", PermissionType.ALLOW),
        AclEntry(Operation.DESCRIBE_CONFIGS, "User:b:c", "10.0.0.1", PermissionType.DENY),
        AclEntry(Operation.ALL, "User:*", "*", PermissionType.ALLOW),
    }
)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (TOPIC, "/kafka-acl/Topic/orders"),
        (ResourcePattern(ResourceType.TOPIC, "*"), "/kafka-acl/Topic/*"),
        (ResourcePattern(ResourceType.CLUSTER, "kafka-cluster"), "/kafka-acl/Cluster/kafka-cluster"),
        (ResourcePattern(ResourceType.TRANSACTIONAL_ID, "t"), "/kafka-acl/TransactionalId/t"),
        (ResourcePattern(ResourceType.DELEGATION_TOKEN, "t"), "/kafka-acl/DelegationToken/t"),
        (ResourcePattern(ResourceType.USER, "User:a"), "/kafka-acl/User/User:a"),
        (ResourcePattern(ResourceType.GROUP, "g%", PREFIXED), "/kafka-acl-extended/prefixed/Group/g%"),
    ],
)
def test_paths_are_those_of_kafka(pattern: ResourcePattern, path: str) -> None:
    assert acl_nodes.pattern_path(pattern, escapes=False) == path


@pytest.mark.parametrize(
    "name", ["plain", "a/b", "50%", "%2F", ".", "..", "a.b", "ü/%25", "*", "%252F", "%2e"]
)
def test_any_name_can_be_escaped(name: str) -> None:
    path = acl_nodes.pattern_path(ResourcePattern(ResourceType.GROUP, name), escapes=True)
    assert path.count("/") == 3
    last = path.rpartition("/")[2]
    assert last.strip(".")
    assert last == name or {"/", "."} & set(name) or "%2" in name
    assert acl_nodes.name_in(last, escapes=True) == name


def test_entries_are_written_as_by_kafka() -> None:
    data = acl_nodes.encode_entries(ENTRIES)
    assert json_of(data) == {
        "version": 1,
        "acls": [
            {"principal": "User:*", "permissionType": "Allow", "operation": "All", "host": "*"},
            {"principal": "User:alice", "permissionType": "Allow", "operation": "Read", "host": "*"},
            {
                "principal": "User:b:c",
                "permissionType": "Deny",
                "operation": "DescribeConfigs",
                "host": "10.0.0.1",
            },
        ],
    }
    assert acl_nodes.decode_entries(data) == ENTRIES


def test_what_a_kafka_of_another_version_writes_is_read() -> None:
    row = b'{"principal":"User:a","permissionType":"Allow","operation":"Fly","x":1}'
    data = b'{"version":2,"new":[],"acls":[%s]}' % row
    assert acl_nodes.decode_entries(data) == {
        AclEntry(Operation.UNKNOWN, "User:a", "*", PermissionType.ALLOW)
    }
    assert acl_nodes.decode_entries(b"") == frozenset()


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b'{"version":1,"acls":[{}]}', b"\xff"])
def test_a_damaged_payload(data: bytes) -> None:
    with pytest.raises(UnreadableAclError):
        acl_nodes.decode_entries(data)


@pytest.mark.parametrize(
    ("pattern", "data"),
    [
        (TOPIC, b"TOPIC:orders"),
        (ResourcePattern(ResourceType.USER, "User:a"), b"USER:User:a"),
        (ResourcePattern(ResourceType.TRANSACTIONAL_ID, "t"), b"TRANSACTIONAL_ID:t"),
        (
            ResourcePattern(ResourceType.GROUP, "g", PREFIXED),
            b'{"version":1,"resourceType":"GROUP","name":"g","patternType":"PREFIXED"}',
        ),
    ],
)
def test_notifications_are_those_of_kafka(pattern: ResourcePattern, data: bytes) -> None:
    assert acl_nodes.encode_change(pattern) == data
    assert acl_nodes.decode_change(pattern.kind, data) == pattern


def test_a_notification_of_an_old_kafka() -> None:
    assert acl_nodes.decode_change(LITERAL, b"Topic:orders") == TOPIC


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (LITERAL, b"orders"),
        (LITERAL, b"Planet:orders"),
        (LITERAL, b"Topic:"),
        (LITERAL, b"\xff:a"),
        (PREFIXED, b"{}"),
        (PREFIXED, b'{"version":1,"resourceType":"ANY","name":"g","patternType":"PREFIXED"}'),
        (PREFIXED, b'{"version":1,"resourceType":"GROUP","name":"g","patternType":"MATCH"}'),
    ],
)
def test_a_notification_that_says_nothing(kind: PatternType, data: bytes) -> None:
    with pytest.raises(UnreadableAclError):
        acl_nodes.decode_change(kind, data)
