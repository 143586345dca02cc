"""The topics that a connection remembers as allowed are those that its authorizer allows now."""

from __future__ import annotations

import logging

import pytest

from kcompat.api.topic_access import may_use_topic
from kcompat.logger_names import AUTHORIZER
from kcompat.security.acl_authorizer import AclAuthorizer
from kcompat.security.acls import AclEntry, PermissionType, ResourcePattern
from kcompat.security.authorizer import LONGEST_NAME, MOST_TOPICS, AllowEverything
from kcompat.security.operations import Operation, ResourceType
from kcompat.security.principals import USER, Principal
from support.asking import Client, context_of, services_of

ORDERS = ResourcePattern(ResourceType.TOPIC, "orders")
MAY_READ = frozenset({AclEntry(Operation.READ, "User:alice", "*", PermissionType.ALLOW)})


class Asker:
    """A connection of a client, and the authorizer that is asked about it."""

    def __init__(self, authorizer: AclAuthorizer) -> None:
        self.authorizer = authorizer
        self.connection = Client()
        self._context = context_of(services_of(authorizer=authorizer), 0, client=self.connection)
        self.connection.principal = Principal(USER, "alice")

    def may(self, operation: Operation, topic: str = "orders") -> bool:
        """Return whether the client may do an operation on a topic."""
        return may_use_topic(self._context, operation, topic)


@pytest.fixture
def asker() -> Asker:
    authorizer = AclAuthorizer()
    authorizer.replace(ORDERS, MAY_READ)
    return Asker(authorizer)


def test_operations_and_topics_are_told_apart(asker: Asker) -> None:
    for _ in range(2):
        assert asker.may(Operation.READ)
        assert asker.may(Operation.DESCRIBE)
        assert not asker.may(Operation.WRITE)
        assert not asker.may(Operation.READ, "others")


def test_a_change_of_any_acl_is_obeyed_at_once(asker: Asker) -> None:
    for _ in range(2):
        assert asker.may(Operation.READ)
        asker.authorizer.replace(ORDERS, frozenset())
        assert not asker.may(Operation.READ)
        asker.authorizer.replace(ORDERS, MAY_READ)


def test_another_principal_has_nothing_of_the_one_before(asker: Asker) -> None:
    assert asker.may(Operation.READ)
    asker.connection.principal = Principal(USER, "bob")
    assert not asker.may(Operation.READ)


def test_each_use_is_logged_where_allowed_access_is(asker: Asker, caplog: pytest.LogCaptureFixture) -> None:
    assert asker.may(Operation.READ)
    with caplog.at_level(logging.DEBUG, AUTHORIZER):
        assert asker.may(Operation.READ)
        assert asker.may(Operation.READ)
    assert caplog.text.count("Allowed operation = READ") == 2


def test_a_client_cannot_have_much_remembered() -> None:
    asker = Asker(AclAuthorizer(allows_without_acls=True))
    for number in range(2 * MOST_TOPICS):
        assert asker.may(Operation.READ, f"topic-{number}")
    assert asker.may(Operation.READ, "x" * (LONGEST_NAME + 1))
    known = asker.connection.allowed_topics
    assert known is not None
    assert known.names[Operation.READ] == {f"topic-{number}" for number in range(MOST_TOPICS)}


def test_nothing_is_remembered_where_everything_is_allowed() -> None:
    connection = Client()
    context = context_of(services_of(authorizer=AllowEverything()), 0, client=connection)
    assert may_use_topic(context, Operation.WRITE, "orders")
    assert connection.allowed_topics is None
