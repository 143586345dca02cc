"""The client ids by which brokers make requests to each other, as in Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.protocol.api_keys import API_FACTS, ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterable

_ALSO_OF_CLIENTS: Final = frozenset(
    {
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.API_VERSIONS,
        ApiKey.CREATE_TOPICS,
        ApiKey.LIST_OFFSETS,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.SASL_HANDSHAKE,
    }
)
"""APIs that clients use as well, among those by which brokers make requests under their numbers."""


def client_id_of(broker_id: int) -> str:
    """Return the client id of a broker's requests other than those of its fetchers."""
    return str(broker_id)


def client_id_of_fetcher(broker_id: int, number: int) -> str:
    """Return the client id of one of a broker's `num.replica.fetchers`."""
    return f"{_fetchers_of(broker_id)}{number}"


def is_of_broker(key: ApiKey | None, client_id: str | None, broker_ids: Iterable[int]) -> bool:
    """Return whether a request of an API, with a client id, is one of these brokers or of their fetchers. A
    client may have the number of a broker as its id, so that the API counts too.
    """
    if client_id is None:
        return False
    may_have_number = key is None or key in _ALSO_OF_CLIENTS or API_FACTS[key].cluster_action
    return any(
        client_id.startswith(_fetchers_of(each)) or (may_have_number and client_id == client_id_of(each))
        for each in broker_ids
    )


def _fetchers_of(broker_id: int) -> str:
    return f"broker-{broker_id}-fetcher-"
