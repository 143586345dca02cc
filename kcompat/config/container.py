"""The configuration in the environment of a container, read by the rules of Apache Kafka's image."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.config.errors import ConfigError
from kcompat.config.first_topics import FirstTopic, topics_of_variables
from kcompat.config.jaas_file import OPTION, logins_of_listeners, read_jaas_file
from kcompat.config.java_text import split_list, trim
from kcompat.config.kraft import ROLES, insist_on_one_node
from kcompat.config.properties import from_environment, read_properties
from kcompat.config.providers import resolve_variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DATA_DIRECTORY: Final = "/var/lib/kafka/data"
"""Default data directory of a container: a volume of the image."""

CLUSTER_ID: Final = "CLUSTER_ID"
"""Environment variable with the id of the cluster, which is not a configuration key."""

_SECRETS: Final = {
    "ssl.keystore.filename": "ssl.keystore.location",
    "ssl.truststore.filename": "ssl.truststore.location",
}
_CREDENTIALS: Final = {
    "ssl.key.credentials": "ssl.key.password",
    "ssl.keystore.credentials": "ssl.keystore.password",
    "ssl.truststore.credentials": "ssl.truststore.password",
}
_QUORUM: Final = "controller.quorum."
_OF_QUORUM: Final = frozenset({ROLES, "sasl.mechanism.controller.protocol"})
_HOST: Final = re.compile(r"://(?:\[[^]]*\]|[^:,]*):")
_THIS_CONTAINER: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


class Asked(Struct, frozen=True):
    """The configuration with which a container was started."""

    values: dict[str, str]
    """The texts of the broker's configuration by key."""
    as_kraft: bool
    """Whether the variables are those of a KRaft node, whose log messages after the start differ."""
    cluster_id: str | None
    """The id for a new cluster; None if the variables have none."""
    topics: tuple[FirstTopic, ...]
    """The topics that exist once the broker has started."""
    remarks: tuple[str, ...]
    """Log lines, one for each setting that has no effect or a different one than its name says."""


def read_container(environment: Mapping[str, str], mounted: Path, secrets: Path) -> Asked:
    """Read the configuration from the variables and from a properties file that may be `mounted`.

    `KAFKA_SSL_KEYSTORE_FILENAME` and similar variables name files below `secrets`. By the rules of Kafka's
    image a variable overrides the file, and `listeners` follow `KAFKA_ADVERTISED_LISTENERS` if only those are
    set. A JAAS file that `KAFKA_OPTS` names stands for settings with the logins in it.

    Raises:
        ConfigError: a setting cannot be understood, or requires more than a single broker.
    """
    ours = from_environment(environment)
    if "advertised.listeners" in ours and not ours.get("listeners"):
        ours["listeners"] = _HOST.sub("://0.0.0.0:", ours["advertised.listeners"])
    values = read_properties(mounted) if mounted.is_file() else {}
    values = resolve_variables(values | ours, environment)
    _place_secrets(values, secrets)
    if jaas_file := OPTION.search(environment.get("KAFKA_OPTS", "")):
        values = logins_of_listeners(read_jaas_file(Path(jaas_file[1])), _names_of_listeners(values)) | values
    if not values.get("listeners") and not values.get("advertised.listeners"):
        # Outside clients cannot reach the container's own address, only a published port.
        values["advertised.listeners"] = "PLAINTEXT://localhost:9092"
    if not values.get("log.dirs") and not values.get("log.dir"):
        values["log.dirs"] = DATA_DIRECTORY
    as_kraft = ROLES in values
    remarks = [*_without_own_zookeeper(values), *_without_quorum(values)]
    chosen = None if values.get("zookeeper.connect") else environment.get(CLUSTER_ID)
    topics = topics_of_variables(environment)
    return Asked(values, as_kraft, chosen or None, tuple(topics), tuple(remarks))


def _names_of_listeners(values: Mapping[str, str]) -> list[str]:
    return [listener.partition("://")[0] for listener in split_list(values.get("listeners", ""))]


def _place_secrets(values: dict[str, str], directory: Path) -> None:
    """Replace the names of key store files by their locations and passwords."""
    for key, meant in _SECRETS.items():
        name = values.pop(key, None)
        if name is not None:
            values[meant] = str(directory / name)
    for key, meant in _CREDENTIALS.items():
        name = values.pop(key, None)
        if name is not None:
            values[meant] = _read_secret(directory / name, key)


def _read_secret(path: Path, key: str) -> str:
    try:
        return path.read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{key} names {path}, which cannot be read: {reason}") from error


def _without_quorum(values: dict[str, str]) -> Iterator[str]:
    """Remove KRaft's settings about controllers, which in a cluster of one node have no effect; yield
    remarks.

    The listeners of controllers stay: `BrokerConfig` does not open them.
    """
    insist_on_one_node(values)
    named = sorted(key for key in values if key in _OF_QUORUM or key.startswith(_QUORUM))
    if ROLES in named and not values.get("zookeeper.connect"):
        for key in named:
            del values[key]
        yield f"A broker alone keeps its metadata itself: {', '.join(named)} are taken for no more than that"


def _without_own_zookeeper(values: dict[str, str]) -> Iterator[str]:
    """Remove the address of a ZooKeeper in the broker's own container; yield remarks.

    No ZooKeeper runs there, and a single broker needs none.
    """
    connect = values.get("zookeeper.connect", "")
    hosts = [part.rpartition(":") for part in split_list(trim(connect.partition("/")[0])) if part]
    if hosts and all((host or port) in _THIS_CONTAINER for host, _, port in hosts):
        del values["zookeeper.connect"]
        yield f"A broker alone keeps its metadata itself: zookeeper.connect={connect} is this container"
