"""The configuration in the environment of a container, read by the rules of Apache Kafka's image."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.config.errors import ConfigError
from kcompat.config.java_text import split_list, trim
from kcompat.config.kraft import ROLES, insist_on_one_node
from kcompat.config.properties import from_environment, read_properties
from kcompat.config.providers import resolve_variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

DATA_DIRECTORY: Final = "/var/lib/kafka/data"
"""Default data directory of a container: a volume of the image."""

CLUSTER_ID: Final = "CLUSTER_ID"
"""The variable with the id of the cluster, which is no key of the configuration."""

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
_HOST: Final = re.compile(r"://(?:\[[^]]*\]|[^:,]*):")
_THIS_CONTAINER: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


class Asked(Struct, frozen=True):
    """The configuration that a container was started with."""

    values: dict[str, str]
    """The texts of the broker's configuration by key."""
    as_kraft: bool
    """Whether the variables are those of a KRaft node, which logs other sentences when it has started."""
    cluster_id: str | None
    """The id for a new cluster; None where the variables give none."""
    remarks: tuple[str, ...]
    """A line for the log for each setting that is not followed as it is written."""


def read_container(environment: Mapping[str, str], mounted: Path, secrets: Path) -> Asked:
    """Read the configuration from the variables and from a properties file that may be `mounted`.

    `KAFKA_SSL_KEYSTORE_FILENAME` and the like name files below `secrets`. As in Kafka's image a variable
    counts before the file, and `listeners` follow `KAFKA_ADVERTISED_LISTENERS` where only those are given.

    Raises:
        ConfigError: something of it cannot be understood, or asks for more than a broker.
    """
    ours = from_environment(environment)
    if "advertised.listeners" in ours and not ours.get("listeners"):
        ours["listeners"] = _HOST.sub("://0.0.0.0:", ours["advertised.listeners"])
    values = read_properties(mounted) if mounted.is_file() else {}
    values = resolve_variables(values | ours, environment)
    _place_secrets(values, secrets)
    if not values.get("listeners") and not values.get("advertised.listeners"):
        # The address of the container is one that nobody outside can reach; a published port is.
        values["advertised.listeners"] = "PLAINTEXT://localhost:9092"
    if not values.get("log.dirs") and not values.get("log.dir"):
        values["log.dirs"] = DATA_DIRECTORY
    as_kraft = ROLES in values
    remarks = [*_without_own_zookeeper(values), *_without_quorum(values)]
    chosen = None if values.get("zookeeper.connect") else environment.get(CLUSTER_ID)
    return Asked(values, as_kraft, chosen or None, tuple(remarks))


def _place_secrets(values: dict[str, str], directory: Path) -> None:
    """Put locations and passwords in place of names of files."""
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
    """Take away what KRaft's settings say about controllers: for one node that is only that it is alone.

    The listeners of controllers stay: `BrokerConfig` knows that they are not opened.
    """
    insist_on_one_node(values)
    named = sorted(key for key in values if key == ROLES or key.startswith(_QUORUM))
    if ROLES in named and not values.get("zookeeper.connect"):
        for key in named:
            del values[key]
        yield f"A broker alone keeps its metadata itself: {', '.join(named)} are taken for no more than that"


def _without_own_zookeeper(values: dict[str, str]) -> Iterator[str]:
    """Take away a ZooKeeper in the broker's own container: there is none, and a broker alone needs none."""
    connect = values.get("zookeeper.connect", "")
    hosts = [part.rpartition(":") for part in split_list(trim(connect.partition("/")[0])) if part]
    if hosts and all((host or port) in _THIS_CONTAINER for host, _, port in hosts):
        del values["zookeeper.connect"]
        yield f"A broker alone keeps its metadata itself: zookeeper.connect={connect} is this container"
