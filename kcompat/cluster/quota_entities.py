"""Quota entities among the entities with dynamic configs, as Kafka 3.9 with ZooKeeper stores quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.cluster.config_entities import CLIENTS, IPS, USERS, parts_of, sanitized_entity
from kcompat.security.quotas.changes import quotas_in
from kcompat.security.quotas.limits import CLIENT_ID, IP, USER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.cluster.config_entities import Entity
    from kcompat.security.quotas.clients import ClientQuotas
    from kcompat.security.quotas.limits import QuotaEntity

_KINDS: Final = {USER: USERS, CLIENT_ID: CLIENTS, IP: IPS}
_TYPES: Final = {kind: quota_type for quota_type, kind in _KINDS.items()}


def config_entity(entity: QuotaEntity) -> Entity:
    """Return the entity whose dynamic configs hold the quotas of `entity`."""
    return sanitized_entity(*((_KINDS[quota_type], name) for quota_type, name in entity))


def put_in_force(quotas: ClientQuotas, changed: Mapping[Entity, Mapping[str, str]]) -> None:
    """Put the quotas among changed dynamic configs in force."""
    for (kind, name), configs in changed.items():
        if kind in _TYPES:
            entity = tuple((_TYPES[part_kind], part) for part_kind, part in parts_of((kind, name)))
            quotas.set(entity, quotas_in(entity, configs))
