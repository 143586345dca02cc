"""The authorizer that the configuration names."""

from __future__ import annotations

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.errors import ConfigError
from kcompat.node.authorization import authorizer_of
from kcompat.protocol.api_keys import ApiKey
from kcompat.security.acl_authorizer import AclAuthorizer
from kcompat.security.authorizer import AllowEverything, Resource
from kcompat.security.operations import Operation
from kcompat.security.principals import ANONYMOUS, USER, Principal

CLASSES = (
    "kafka.security.authorizer.AclAuthorizer",
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
)
TOPIC = Resource.topic("t")


def may(principal: Principal, **settings: str) -> bool:
    config = {name.replace("_", "."): text for name, text in settings.items()}
    authorizer = authorizer_of(BrokerConfig({"authorizer.class.name": CLASSES[0], **config}))
    return authorizer.may(principal, "10.0.0.1", Operation.READ, TOPIC, ApiKey.FETCH)


def test_without_an_authorizer_everything_is_allowed() -> None:
    for config in ({}, {"authorizer.class.name": " "}, {"super.users": "User:a"}):
        assert isinstance(authorizer_of(BrokerConfig(config)), AllowEverything)


@pytest.mark.parametrize("name", CLASSES)
def test_both_names_of_kafka_stand_for_acls(name: str) -> None:
    authorizer = authorizer_of(BrokerConfig({"authorizer.class.name": f" {name} "}))
    assert isinstance(authorizer, AclAuthorizer)
    assert not authorizer.allows_everything


def test_super_users() -> None:
    super_users = " User:admin ; User:CN=kafka, OU=x;;User:a:b"
    for name in ("admin", "CN=kafka, OU=x", "a:b"):
        assert may(Principal(USER, name), super_users=super_users)
    for principal in (ANONYMOUS, Principal(USER, "admin "), Principal("Group", "admin")):
        assert not may(principal, super_users=super_users)


@pytest.mark.parametrize("text", ["admin", "User:a;b", ":a"])
def test_a_super_user_that_is_no_principal(text: str) -> None:
    with pytest.raises(ConfigError, match=r"super\.users has '.*', which is not a principal"):
        may(ANONYMOUS, super_users=text)


def test_super_users_separated_by_commas_are_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    """Kafka takes such a text as the name of one user, who never logs in."""
    may(ANONYMOUS, super_users="User:CN=a, O=b")
    assert not caplog.messages
    may(ANONYMOUS, super_users="User:a, User:b")
    assert "separate several by semicolons" in caplog.text


@pytest.mark.parametrize(
    ("text", "is_allowed"), [("true", True), (" TRUE ", True), ("yes", False), ("", False)]
)
def test_what_is_allowed_without_acls(text: str, is_allowed: bool) -> None:
    assert may(ANONYMOUS, allow_everyone_if_no_acl_found=text) is is_allowed
