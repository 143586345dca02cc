"""The authorizer that decides by ACLs: super users, remembered decisions, and its log."""

from __future__ import annotations

import logging

import pytest

from kcompat.logger_names import AUTHORIZER
from kcompat.protocol.api_keys import ApiKey
from kcompat.security.acl_authorizer import AclAuthorizer
from kcompat.security.acls import AclEntry, PatternType, PermissionType, ResourcePattern
from kcompat.security.authorizer import CLUSTER, Purpose, Resource
from kcompat.security.operations import Operation, ResourceType
from kcompat.security.principals import USER, Principal

ALICE = Principal(USER, "alice")
HOST = "10.0.0.7"
ORDERS = Resource.topic("orders")
PATTERN = ResourcePattern(ResourceType.TOPIC, "orders")
READ_ENTRY = AclEntry(Operation.READ, "User:alice", "*", PermissionType.ALLOW)


def test_super_users_may_do_everything() -> None:
    authorizer = AclAuthorizer(["User:admin", "User:alice"])
    authorizer.replace(PATTERN, frozenset({AclEntry(Operation.ALL, "User:*", "*", PermissionType.DENY)}))
    assert authorizer.may(ALICE, HOST, Operation.WRITE, ORDERS, ApiKey.PRODUCE)
    assert authorizer.may_on_any(ALICE, HOST, Operation.WRITE, ResourceType.TOPIC)
    for other in (Principal(USER, "bob"), Principal("Group", "alice")):
        assert not authorizer.may(other, HOST, Operation.WRITE, ORDERS, ApiKey.PRODUCE)
        assert not authorizer.may_on_any(other, HOST, Operation.WRITE, ResourceType.TOPIC)


def test_a_change_is_obeyed_at_once() -> None:
    authorizer = AclAuthorizer()
    for _ in range(2):
        assert not authorizer.may(ALICE, HOST, Operation.READ, ORDERS, ApiKey.FETCH)
        assert not authorizer.may_on_any(ALICE, HOST, Operation.READ, ResourceType.TOPIC)
        authorizer.replace(PATTERN, frozenset({READ_ENTRY}))
        assert authorizer.may(ALICE, HOST, Operation.READ, ORDERS, ApiKey.FETCH)
        assert authorizer.may_on_any(ALICE, HOST, Operation.READ, ResourceType.TOPIC)
        authorizer.replace(PATTERN, frozenset())


def test_a_generation_ends_when_an_acl_changes() -> None:
    authorizer = AclAuthorizer()
    before = authorizer.generation
    authorizer.replace(PATTERN, frozenset())
    assert authorizer.generation is before
    authorizer.replace(PATTERN, frozenset({READ_ENTRY}))
    assert authorizer.generation is not before


def test_remembered_decisions_are_bounded() -> None:
    authorizer = AclAuthorizer(allows_without_acls=True, most_remembered=10)
    for number in range(100):
        host = f"10.0.0.{number}"
        assert authorizer.may(ALICE, host, Operation.READ, ORDERS, ApiKey.FETCH)
        assert authorizer.may_on_any(ALICE, host, Operation.READ, ResourceType.TOPIC)
        assert authorizer.may(ALICE, host, Operation.READ, Resource.group("g" * 250), ApiKey.FETCH)
    assert authorizer.remembered <= 20


def lines_of(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_the_log_is_that_of_kafka(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, AUTHORIZER)
    authorizer = AclAuthorizer(["User:admin"])
    authorizer.replace(PATTERN, frozenset({READ_ENTRY}))
    authorizer.may(ALICE, HOST, Operation.READ, ORDERS, ApiKey.FETCH)
    authorizer.may(ALICE, HOST, Operation.WRITE, ORDERS, ApiKey.PRODUCE)
    authorizer.may(Principal(USER, "admin"), HOST, Operation.ALTER, CLUSTER, ApiKey.CREATE_ACLS)
    assert lines_of(caplog) == [
        (
            "DEBUG",
            "Principal = User:alice is Allowed operation = READ from host = 10.0.0.7 on resource = "
            "Topic:LITERAL:orders for request = Fetch with resourceRefCount = 1 based on rule "
            "MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=orders, patternType=LITERAL, "
            "principal=User:alice, host=*, operation=READ, permissionType=ALLOW))",
        ),
        (
            "INFO",
            "Principal = User:alice is Denied operation = WRITE from host = 10.0.0.7 on resource = "
            "Topic:LITERAL:orders for request = Produce with resourceRefCount = 1 based on rule DefaultDeny",
        ),
        (
            "DEBUG",
            "Principal = User:admin is Allowed operation = ALTER from host = 10.0.0.7 on resource = "
            "Cluster:LITERAL:kafka-cluster for request = CreateAcls with resourceRefCount = 1 based on rule "
            "SuperUser",
        ),
    ]


@pytest.mark.parametrize(
    ("purpose", "allowed", "denied"),
    [
        (Purpose.ACCESS, logging.DEBUG, logging.INFO),
        (Purpose.FILTER, logging.DEBUG, 5),
        (Purpose.OPERATIONS, 5, 5),
    ],
)
def test_the_level_depends_on_the_purpose(
    caplog: pytest.LogCaptureFixture, purpose: Purpose, allowed: int, denied: int
) -> None:
    caplog.set_level(5, AUTHORIZER)
    authorizer = AclAuthorizer()
    authorizer.replace(PATTERN, frozenset({READ_ENTRY}))
    authorizer.may(ALICE, HOST, Operation.READ, ORDERS, ApiKey.FETCH, purpose)
    authorizer.may(ALICE, HOST, Operation.WRITE, ORDERS, ApiKey.FETCH, purpose)
    assert [record.levelno for record in caplog.records] == [allowed, denied]


def test_a_client_cannot_write_lines_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, AUTHORIZER)
    authorizer = AclAuthorizer()
    forged = Resource.group("g\n[2026] INFO Principal = User:root is Allowed\x1b[2K\u2028ü")
    authorizer.may(ALICE, HOST, Operation.READ, forged, ApiKey.JOIN_GROUP)
    ((_, line),) = lines_of(caplog)
    assert "Group:LITERAL:g\\n[2026] INFO Principal = User:root is Allowed\\x1b[2K\\u2028ü for" in line


def test_acls_are_found_by_a_filter() -> None:
    authorizer = AclAuthorizer()
    prefixed = ResourcePattern(ResourceType.TOPIC, "ord", PatternType.PREFIXED)
    authorizer.replace(PATTERN, frozenset({READ_ENTRY}))
    authorizer.replace(prefixed, frozenset({READ_ENTRY}))
    assert authorizer.patterns() == [prefixed, PATTERN]
