"""The identity of a broker: its id and the id of its cluster, from the configuration, the log directories or
the metadata store, or new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.cluster.feature_levels import HIGHEST_LEVELS
from kcompat.cluster.registration import generate_broker_id
from kcompat.config.errors import ConfigError
from kcompat.controller import loading
from kcompat.protocol.uuids import random_uuid, uuid_to_text

if TYPE_CHECKING:
    from random import Random

    from kcompat.config.broker import BrokerConfig
    from kcompat.log.identity import Identity
    from kcompat.store.interface import MetadataStore

DEFAULT_BROKER_ID: Final = 1
"""Id of a broker that keeps its own metadata, has no configured id, and has new log directories."""

_MOST_RESERVED: Final = "reserved.broker.max.id"


async def find_identity(
    config: BrokerConfig, stored: Identity, session: MetadataStore, random: Random, *, is_alone: bool
) -> tuple[BrokerConfig, str]:
    """Return the configuration with the broker's final id, and the id of the cluster.

    `stored` is the identity in the log directories. A store that has none of Kafka's nodes yet gets them.
    With `is_alone` the store belongs to this broker alone.

    Raises:
        ConfigError: there is no broker id, or the ids do not fit together.
    """
    is_ours = not config.string("zookeeper.connect")  # Kafka brokers do not start with finalized features
    await loading.prepare(session, HIGHEST_LEVELS if is_ours else {})
    config = await with_broker_id(config, stored, session, is_alone=is_alone)
    proposed = stored.cluster_id or uuid_to_text(random_uuid(random))
    # Adoption writes the id together with the topics found in the logs.
    return config, await loading.cluster_id(session, proposed, claims=not is_alone)


async def with_broker_id(
    config: BrokerConfig, identity: Identity, session: MetadataStore, *, is_alone: bool
) -> BrokerConfig:
    """Return the configuration with the broker's final id. With `is_alone` no other broker can have that id.

    Raises:
        ConfigError: there is no id, or it is in the range of automatically generated ids.
    """
    broker_id = config.broker_id
    generates, most_reserved = config.boolean("broker.id.generation.enable"), config.integer(_MOST_RESERVED)
    if is_alone:
        if broker_id >= 0:
            return config
        broker_id = DEFAULT_BROKER_ID if identity.broker_id is None else identity.broker_id
    elif broker_id >= 0:
        if generates and broker_id > most_reserved:
            raise ConfigError(
                f"broker.id={broker_id} is above {_MOST_RESERVED}={most_reserved}: those ids are given to "
                "brokers without one. Raise that, or set broker.id.generation.enable=false"
            )
        return config
    elif identity.broker_id is not None:
        broker_id = identity.broker_id
    elif generates:
        broker_id = await generate_broker_id(session, most_reserved)
    else:
        raise ConfigError("broker.id is not set, and broker.id.generation.enable=false")
    return config.with_static({"broker.id": str(broker_id)})
