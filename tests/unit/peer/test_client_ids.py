"""The client ids of brokers."""

from __future__ import annotations

import pytest

from kcompat.peer.client_ids import client_id_of, client_id_of_fetcher, is_of_broker
from kcompat.protocol.api_keys import ApiKey


def test_they_are_those_of_kafka() -> None:
    assert client_id_of(1) == "1"
    assert client_id_of_fetcher(1, 0) == "broker-1-fetcher-0"


@pytest.mark.parametrize("key", [ApiKey.API_VERSIONS, ApiKey.WRITE_TXN_MARKERS, None])
@pytest.mark.parametrize(
    ("client_id", "expected"),
    [
        ("1", True),
        ("broker-12-fetcher-3", True),
        ("2", False),
        ("broker-1", False),
        ("broker-2-fetcher-0", False),
        ("app", False),
        ("", False),
        (None, False),
    ],
)
def test_which_client_ids_are_of_the_brokers(
    client_id: str | None, expected: bool, key: ApiKey | None
) -> None:
    assert is_of_broker(key, client_id, [1, 12]) is expected


@pytest.mark.parametrize("key", [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, ApiKey.JOIN_GROUP])
def test_a_client_may_have_the_number_of_a_broker(key: ApiKey) -> None:
    assert not is_of_broker(key, "1", [1])
    assert is_of_broker(key, "broker-1-fetcher-0", [1])
