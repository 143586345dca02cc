"""Access lists of new nodes, and the errors that tell a user what to do where ZooKeeper refuses."""

from __future__ import annotations

import pytest
from kazoo.exceptions import NoAuthError, SessionClosedRequireSaslError

from kcompat.store.interface import OPEN_ACL, AccessDeniedError, StoreUnavailableError
from kcompat.store.zookeeper.translation import CREATOR_ONLY, READ_BY_ALL, default_acl, our_error


def test_a_node_of_others_says_how_to_be_let_in() -> None:
    """Kafka's brokers may own the nodes by SASL."""
    with pytest.raises(
        AccessDeniedError,
        match=r"^ZooKeeper does not let this broker use /cluster/id, .+KCOMPAT_ZOOKEEPER_AUTH.+"
        r"zookeeper\.ssl\.keystore\.location.+ SASL.+zookeeper-security-migration\.sh",
    ) as denied:
        raise our_error(NoAuthError(), "/cluster/id")
    assert "\n" not in str(denied.value)


def test_an_ensemble_that_wants_sasl_says_what_it_has_to_allow() -> None:
    with pytest.raises(
        StoreUnavailableError, match=r"SASL: .+enforce\.auth\.schemes.+KCOMPAT_ZOOKEEPER_AUTH"
    ):
        raise our_error(SessionClosedRequireSaslError(), "/brokers")


@pytest.mark.parametrize(
    ("path", "acl"),
    [
        ("/brokers/topics/t", READ_BY_ALL),
        ("/config/topics/t", READ_BY_ALL),
        ("/config/changes/config_change_", READ_BY_ALL),
        ("/config/users/alice", CREATOR_ONLY),
        ("/config/users", CREATOR_ONLY),
        ("/config/brokers/1", CREATOR_ONLY),
        ("/delegation_token/tokens/x", CREATOR_ONLY),
        ("/consumers", OPEN_ACL),
        ("/consumers/g", READ_BY_ALL),
    ],
)
def test_access_lists_of_paths(path: str, acl: object) -> None:
    assert default_acl(path, is_secure=True) == acl
    assert default_acl(path, is_secure=False) == OPEN_ACL
