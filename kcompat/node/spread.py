"""The configurations of several similar brokers, derived from one configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from kcompat.config.errors import ConfigError
from kcompat.config.fixed_size import fit_to_size
from kcompat.config.kraft import QUORUM_KEYS
from kcompat.config.listeners import THIS_MACHINE, is_wildcard
from kcompat.log.files import FILES
from kcompat.node.layout import insist_on_several, member_directory
from kcompat.node.peer_security import insist_on_peer_security

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.config.broker import BrokerConfig


def spread(
    config: BrokerConfig,
    brokers: int,
    racks: Sequence[str] | None = None,
    ports: Sequence[int] | None = None,
) -> list[BrokerConfig]:
    """Return the configurations of brokers 0, 1, 2, ... on one machine.

    They differ in the port (one of `ports`, or else ports in a row from the configured one), in the
    directories (`broker-<id>` below each of `log.dirs`) and in the rack (`racks` in turn). If the listener
    names no host, the brokers advertise this machine. Without `zookeeper.connect` they are the whole cluster,
    and the replication factors of internal topics are limited to its size. Settings of a KRaft quorum are
    dropped.

    Raises ConfigError, and LogDirectoryError if the directories belong to other brokers.
    """
    if len(config.listeners) > 1 or config.advertised:
        raise ConfigError(
            "several brokers that are alike take one listener, and advertise what it is bound to"
        )
    insist_on_peer_security(config)
    insist_on_several(config.log_dirs, brokers, FILES)
    if not config.string("zookeeper.connect"):
        config = fit_to_size(config, brokers)
    configs = []
    (first,) = config.listeners
    if ports is None:
        ports = [first.port and first.port + broker_id for broker_id in range(brokers)]
    for broker_id in range(brokers):
        listener = structs.replace(first, port=ports[broker_id])
        own = {
            "broker.id": str(broker_id),
            "log.dirs": ",".join(member_directory(directory, broker_id) for directory in config.log_dirs),
            "listeners": str(listener),
            **{key: "" for key in QUORUM_KEYS if key in config.static},
        }
        if is_wildcard(listener.host):
            own["advertised.listeners"] = str(structs.replace(listener, host=THIS_MACHINE))
        if racks is not None:
            own["broker.rack"] = racks[broker_id % len(racks)]
        configs.append(config.with_static(own))
    return configs
