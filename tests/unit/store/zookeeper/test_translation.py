"""What a user is told where ZooKeeper refuses: one sentence that says what to do."""

from __future__ import annotations

import pytest
from kazoo.exceptions import NoAuthError, SessionClosedRequireSaslError

from kcompat.store.interface import AccessDeniedError, StoreUnavailableError
from kcompat.store.zookeeper.translation import our_error


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
