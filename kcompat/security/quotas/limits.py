"""Quota entities, the keys of quotas, and the rule which limit applies to a client. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

USER, CLIENT_ID, IP = "user", "client-id", "ip"
"""Types of entities that quotas are set for, as requests name them."""

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

CLIENT_KEYS: Final = frozenset(
    {PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE}
)
"""Keys of the quotas of users and client ids."""
IP_KEYS: Final = frozenset({CONNECTION_CREATION_RATE})
"""Keys of the quotas of addresses."""

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Types and names of an entity: an address, a user, a client id, or a user before a client id. The name None
stands for every entity without a quota of its own (`--entity-default`).
"""

Holder = tuple[str | None, str | None]
"""User and client id whose requests count together; None for a part that is not compared."""


def limit_of(
    limits: Mapping[QuotaEntity, Mapping[str, float]], key: str, user: str, client_id: str
) -> tuple[float, Holder] | None:
    """Return the limit of a client by Kafka's precedence, and the holder whose requests count together; None
    if the client has no limit.
    """
    for entity, holder in _by_precedence(user, client_id):
        quotas = limits.get(entity)
        if quotas is not None and key in quotas:
            return quotas[key], holder
    return None


def _by_precedence(user: str, client_id: str) -> Iterator[tuple[QuotaEntity, Holder]]:
    both, of_user, of_client = (user, client_id), (user, None), (None, client_id)
    for name in (user, None):
        yield ((USER, name), (CLIENT_ID, client_id)), both
        yield ((USER, name), (CLIENT_ID, None)), both
        yield ((USER, name),), of_user
    yield ((CLIENT_ID, client_id),), of_client
    yield ((CLIENT_ID, None),), of_client
