"""Changes of an entity's dynamic configs that handlers decide on the metadata image and store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.config.dynamic import ConfigChange
from kcompat.promise import Promise
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.api.context import ClusterServices
    from kcompat.cluster.config_entities import Entity


def store_change(
    cluster: ClusterServices, entity: Entity, outcome: ConfigChange, judge: Callable[[], ConfigChange]
) -> Promise[ConfigChange]:
    """Store the configs of `outcome`, which `judge` has just decided on the image; promise the outcome.

    If another client changed the entity in between, `judge` decides again. A refusal is not stored.
    """
    stored: Promise[ConfigChange] = Promise()
    _store(cluster, entity, outcome, judge, stored)
    return stored


def _store(
    cluster: ClusterServices,
    entity: Entity,
    outcome: ConfigChange,
    judge: Callable[[], ConfigChange],
    stored: Promise[ConfigChange],
) -> None:
    if outcome.error is not ErrorCode.NONE:
        stored.complete(outcome)
        return

    def answered(error: ErrorCode) -> None:
        if error is ErrorCode.INVALID_UPDATE_VERSION:
            _store(cluster, entity, judge(), judge, stored)
        else:
            stored.complete(outcome if error is ErrorCode.NONE else ConfigChange(error, error.message))

    basis = cluster.metadata.image.configs(*entity)
    cluster.configs.replace(*entity, dict(outcome.configs), basis).then(answered, stored.fail)
