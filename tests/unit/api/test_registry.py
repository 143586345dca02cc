"""The one list of what is served."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcompat.api.registry import SERVED
from kcompat.protocol.api_keys import API_FACTS, ApiKey

if TYPE_CHECKING:
    from kcompat.api.registry import Served


def test_rules_of_access_can_be_asked_for() -> None:
    """MirrorMaker 2 logs an error every few minutes where the question itself is unknown."""
    assert {ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS} <= {served.key for served in SERVED}


def test_whatever_a_broker_serves_to_clients_is_served_but_for_the_quorum_and_telemetry() -> None:
    """Clients infer the release of a broker from the keys that it lists."""
    served = {served.key for served in SERVED}
    assert {facts.key for facts in API_FACTS.values() if "broker" in facts.listeners} - served == {
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
        ApiKey.UNREGISTER_CONTROLLER,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.PUSH_TELEMETRY,
        ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
    }


@pytest.mark.parametrize("served", SERVED, ids=lambda served: served.key.name)
def test_every_api_has_a_handler_and_a_file_of_tests(served: Served) -> None:
    assert callable(served.handler())
    assert Path(__file__).with_name(f"test_{served.key.name.lower()}.py").is_file()
