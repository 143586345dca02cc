"""Checks of quotas that clients set, in Kafka's words, and quotas as they are stored. Pure.

Kafka's counterparts: `ClientQuotaControlManager`, `QuotaConfigs`.
"""

from __future__ import annotations

import math
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from kcompat.security.quotas.limits import (
    CLIENT_ID,
    CLIENT_KEYS,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    IP,
    IP_KEYS,
    PRODUCER_BYTE_RATE,
    USER,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.security.quotas.limits import QuotaEntity

TYPES: Final = (USER, CLIENT_ID, IP)
"""Types of entities, in the order of a `QuotaEntity`."""

_LARGEST: Final = {
    PRODUCER_BYTE_RATE: (2**63 - 1, "a LONG"),
    CONSUMER_BYTE_RATE: (2**63 - 1, "a LONG"),
    CONNECTION_CREATION_RATE: (2**31 - 1, "an INT"),
}
"""Keys whose values are integers, the largest value and Kafka's name for its type; other values have
fractions.
"""


def entity_of(names: Mapping[str, str | None]) -> QuotaEntity:
    """Return the entity with these names by type, for which `fault_of_entity` returns None."""
    return tuple((kind, names[kind]) for kind in TYPES if kind in names)


def keys_of(entity: QuotaEntity) -> frozenset[str]:
    """Return the keys of the quotas that an entity may have."""
    return IP_KEYS if entity[0][0] == IP else CLIENT_KEYS


def fault_of_entity(names: Mapping[str, str | None]) -> str | None:
    """Return the reason why these names by type are not a valid entity, or None."""
    if not names:
        return "Invalid empty client quota entity"
    for kind, name in names.items():
        if kind not in TYPES:
            return f"Unhandled client quota entity type: {kind}"
        if name == "":
            return f"Empty {kind} not supported"
    if IP not in names:
        return None
    if len(names) > 1:
        return "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
    return _fault_of_address(names[IP])


def _fault_of_address(address: str | None) -> str | None:
    try:
        ip_address(address or "::")
    except ValueError:
        return f"{address} is not a valid IP or resolvable host."
    return None


def fault_of_quota(entity: QuotaEntity, key: str, value: float) -> str | None:
    """Return the reason why an entity cannot have this quota, or None."""
    if key not in keys_of(entity):
        return f"Invalid configuration key {key}"
    if not value > 0 or (math.isinf(value) and key not in _LARGEST):
        return f"Quota {key} must be greater than 0"
    if key not in _LARGEST:
        return None
    largest, name = _LARGEST[key]
    if value > float(largest):
        return f"Proposed value for {key} is too large for {name}."
    if value % 1.0 > 1e-6 or value < 1:
        return f"{key} cannot be a fractional value."
    return None


def stored(key: str, value: float) -> str:
    """Return the text in which a quota is stored among the dynamic configs of its entity."""
    return str(min(int(value), _LARGEST[key][0])) if key in _LARGEST else repr(value)


def quotas_in(entity: QuotaEntity, configs: Mapping[str, str]) -> dict[str, float]:
    """Return the quotas among the dynamic configs of an entity. Invalid values are left out, and so are other
    configs, such as the credentials of a user.
    """
    quotas = {}
    for key in keys_of(entity) & configs.keys():
        try:
            value = float(configs[key])
        except ValueError:
            continue
        if 0 < value < math.inf or (value == 0 and key in IP_KEYS):
            quotas[key] = value
    return quotas
