"""The client ids by which brokers make requests to each other, as in Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def client_id_of(broker_id: int) -> str:
    """Return the client id of a broker's requests other than those of its fetchers."""
    return str(broker_id)


def client_id_of_fetcher(broker_id: int, number: int) -> str:
    """Return the client id of one of a broker's `num.replica.fetchers`."""
    return f"{_fetchers_of(broker_id)}{number}"


def is_of_broker(client_id: str | None, broker_ids: Iterable[int]) -> bool:
    """Return whether a client id is that of one of these brokers or of their fetchers."""
    return client_id is not None and any(
        client_id == client_id_of(each) or client_id.startswith(_fetchers_of(each)) for each in broker_ids
    )


def _fetchers_of(broker_id: int) -> str:
    return f"broker-{broker_id}-fetcher-"
