"""Metrics of the broker in its cluster: its state, the controller, and the groups that it coordinates."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from kcompat.observe.exposition import Family, Kind, alone, labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcompat.observe.exposition import Sample
    from kcompat.observe.scrape import Scrape

STARTING, RUNNING = 1, 3
"""Values of Kafka's `BrokerState`."""

_GROUP_STATES: Final = ("preparingrebalance", "completingrebalance", "stable", "dead", "empty")


def _of_controller(name: str, meaning: str, read: Callable[[Scrape], float]) -> Family[Scrape]:
    return Family(
        f"kafka_controller_{name}",
        Kind.COUNTER if name.endswith("_total") else Kind.GAUGE,
        f"{meaning}; 0 unless this broker is the controller.",
        (),
        lambda scrape: alone(read(scrape) if scrape.is_controller else 0),
    )


def _of_groups(name: str, meaning: str, read: Callable[[Scrape], float]) -> Family[Scrape]:
    return Family(
        f"kafka_coordinator_group_groupmetadatamanager_{name}",
        Kind.GAUGE,
        f"{meaning} that this broker coordinates.",
        (),
        lambda scrape: alone(read(scrape)),
    )


def _in_state(state: str) -> Family[Scrape]:
    meaning = f"Groups in the state {state}"
    return _of_groups(f"numgroups{state}", meaning, lambda scrape: scrape.groups[state])


def _offsets(scrape: Scrape) -> int:
    """Return the number of committed offsets of the groups that this broker coordinates."""
    shards = (shard for _, shard in scrape.parts.coordinators.groups.runtime.active())
    return sum(sum(map(len, shard.offsets.values())) for shard in shards)


def _info(_scrape: Scrape) -> list[Sample]:
    try:
        installed = version("kcompat")
    except PackageNotFoundError:
        installed = "unknown"
    return [(labels(version=installed), 1)]


FAMILIES: Final[tuple[Family[Scrape], ...]] = (
    Family("kcompat_info", Kind.GAUGE, "1, with the version of kcompat.", ("version",), _info),
    Family(
        "kafka_server_kafkaserver_brokerstate",
        Kind.GAUGE,
        "State of the broker: 1 starting or stopping, 3 running.",
        (),
        lambda scrape: alone(RUNNING if scrape.broker.is_serving else STARTING),
    ),
    _of_controller("kafkacontroller_activecontrollercount", "1 on the controller", lambda _: 1),
    _of_controller(
        "kafkacontroller_activebrokercount", "Live brokers", lambda scrape: len(scrape.image.brokers)
    ),
    _of_controller(
        "kafkacontroller_globaltopiccount", "Topics of the cluster", lambda scrape: len(scrape.image.topics)
    ),
    _of_controller(
        "kafkacontroller_globalpartitioncount", "Partitions of the cluster", lambda scrape: scrape.cluster.all
    ),
    _of_controller(
        "kafkacontroller_offlinepartitionscount",
        "Partitions without a live leader",
        lambda scrape: scrape.cluster.offline,
    ),
    _of_controller(
        "kafkacontroller_preferredreplicaimbalancecount",
        "Partitions that another replica leads than the preferred one",
        lambda scrape: scrape.cluster.imbalanced,
    ),
    _of_controller(
        "controllerstats_uncleanleaderelections_total",
        "Leaders elected from outside the in-sync replicas, which loses records",
        lambda scrape: scrape.parts.cluster.controller_election.unclean_elections,
    ),
    _of_groups("numgroups", "Groups", lambda scrape: scrape.groups.total()),
    *map(_in_state, _GROUP_STATES),
    _of_groups("numoffsets", "Committed offsets of the groups", _offsets),
)
"""The metrics of the cluster, in the order of the page."""
