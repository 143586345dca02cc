"""Metrics of topics, partitions and their logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.observe.exposition import Family, Kind, alone, labels
from kcompat.observe.scrape import is_under_replicated
from kcompat.replication.leading.leader import Leader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcompat.observe.exposition import Sample
    from kcompat.observe.scrape import Scrape
    from kcompat.replication.partition import Partition


def _of_topics(name: str, attribute: str, meaning: str) -> Family[Scrape]:
    return Family(
        f"kafka_server_brokertopicmetrics_{name}_total",
        Kind.COUNTER,
        f"{meaning}. Without the label topic: of all topics since the start.",
        ("topic",),
        lambda scrape: ((text, getattr(counts, attribute)) for text, counts in scrape.topics),
        optional=("topic",),
    )


def _of_all_topics(name: str, attribute: str, meaning: str) -> Family[Scrape]:
    return Family(
        f"kafka_server_brokertopicmetrics_{name}_total",
        Kind.COUNTER,
        f"{meaning}.",
        (),
        lambda scrape: alone(getattr(scrape.topics[0][1], attribute)),
    )


def _of_partitions(name: str, meaning: str, read: Callable[[Partition], float]) -> Family[Scrape]:
    return Family(
        f"kafka_{name}",
        Kind.GAUGE,
        f"{meaning}.",
        ("topic", "partition"),
        lambda scrape: ((text, read(partition)) for text, partition in scrape.partitions),
    )


def _of_leaders(name: str, meaning: str, read: Callable[[Leader], float]) -> Family[Scrape]:
    return _of_partitions(
        f"cluster_partition_{name}",
        f"{meaning}; 0 unless this broker leads the partition",
        lambda partition: int(read(partition.state)) if isinstance(partition.state, Leader) else 0,
    )


def _of_broker(name: str, meaning: str, read: Callable[[Scrape], float]) -> Family[Scrape]:
    return Family(
        f"kafka_server_replicamanager_{name}",
        Kind.COUNTER if name.endswith("_total") else Kind.GAUGE,
        f"{meaning}.",
        (),
        lambda scrape: alone(read(scrape)),
    )


def _offline_replicas(scrape: Scrape) -> int:
    """Return the number of replicas of this broker whose disk has failed."""
    broker_id = scrape.broker.broker_id
    return sum(
        broker_id in partition.offline and broker_id in partition.replicas
        for topic in scrape.image.topics.values()
        for partition in topic.partitions.values()
    )


def _max_lag(scrape: Scrape) -> Iterable[Sample]:
    lag = scrape.parts.cluster.peering.fetching.lag
    found = (lag(partition.topic, partition.index) for _, partition in scrape.partitions)
    yield labels(clientId="Replica"), max((each for each in found if each is not None), default=0)


def _directories(scrape: Scrape) -> Iterator[Sample]:
    for directory in scrape.parts.storage.logs.directories:
        yield labels(logDirectory=directory.path), int(directory.offline is not None)


FAMILIES: Final[tuple[Family[Scrape], ...]] = (
    _of_topics("messagesin", "messages_in", "Records that producers have written"),
    _of_topics("bytesin", "bytes_in", "Bytes of batches that producers have written"),
    _of_topics("bytesout", "bytes_out", "Bytes of records that consumers were sent"),
    _of_topics("bytesrejected", "bytes_rejected", "Bytes of batches that were refused for their size"),
    _of_topics("totalproducerequests", "produces", "Batches in produce requests, one for each partition"),
    _of_topics(
        "failedproducerequests",
        "failed_produces",
        "Batches that were refused, without those to another leader, too large or damaged ones",
    ),
    _of_topics(
        "totalfetchrequests",
        "fetches",
        "Reads of a partition for fetches, without those that a fetch session answers from its memory",
    ),
    _of_topics(
        "failedfetchrequests", "failed_fetches", "Reads that failed for reasons not named by the protocol"
    ),
    _of_topics("producemessageconversions", "produce_conversions", "Records written in a format before 0.11"),
    _of_topics("fetchmessageconversions", "fetch_conversions", "Records converted to a format before 0.11"),
    _of_all_topics("replicationbytesin", "bytes_copied", "Bytes of records copied from leaders"),
    _of_all_topics("replicationbytesout", "bytes_to_followers", "Bytes of records that followers were sent"),
    _of_broker("leadercount", "Partitions that this broker leads", lambda scrape: scrape.led.all),
    _of_broker(
        "partitioncount", "Partitions of which this broker has a replica", lambda s: len(s.partitions)
    ),
    _of_broker("offlinereplicacount", "Replicas of this broker on a failed disk", _offline_replicas),
    _of_broker(
        "underreplicatedpartitions",
        "Partitions that this broker leads with fewer replicas in sync than assigned",
        lambda scrape: scrape.led.under_replicated,
    ),
    _of_broker(
        "underminisrpartitioncount",
        "Partitions that this broker leads with fewer replicas in sync than min.insync.replicas",
        lambda scrape: scrape.led.under_min_isr,
    ),
    _of_broker(
        "atminisrpartitioncount",
        "Partitions that this broker leads with just as many replicas in sync as min.insync.replicas",
        lambda scrape: scrape.led.at_min_isr,
    ),
    _of_broker(
        "isrshrinks_total",
        "ISRs that this broker's leaders have made smaller",
        lambda scrape: scrape.parts.cluster.proposals.shrinks,
    ),
    _of_broker(
        "isrexpands_total",
        "ISRs that this broker's leaders have made larger",
        lambda scrape: scrape.parts.cluster.proposals.expands,
    ),
    _of_broker(
        "failedisrupdates_total",
        "ISR changes that the controller has refused",
        lambda scrape: scrape.parts.cluster.proposals.failures,
    ),
    Family(
        "kafka_server_replicafetchermanager_maxlag",
        Kind.GAUGE,
        "Largest number of records that a follower on this broker is behind its leader.",
        ("clientId",),
        _max_lag,
    ),
    _of_leaders("underreplicated", "1 if fewer replicas are in sync than assigned", is_under_replicated),
    _of_leaders(
        "underminisr",
        "1 if fewer replicas are in sync than min.insync.replicas",
        lambda leader: len(leader.state.isr) < leader.min_isr,
    ),
    _of_leaders(
        "atminisr",
        "1 if just as many replicas are in sync as min.insync.replicas",
        lambda leader: len(leader.state.isr) == leader.min_isr,
    ),
    _of_leaders("insyncreplicascount", "Number of replicas in sync", lambda leader: len(leader.state.isr)),
    _of_leaders("replicascount", "Number of replicas", lambda leader: len(leader.remotes) + 1),
    _of_partitions(
        "cluster_partition_laststableoffsetlag",
        "Records between the last stable offset and the high watermark, held back by open transactions",
        lambda partition: partition.high_watermark - partition.last_stable_offset,
    ),
    _of_partitions("log_log_size", "Bytes of the log", lambda partition: partition.log.size),
    _of_partitions(
        "log_log_logstartoffset", "First offset of the log", lambda partition: partition.log.log_start_offset
    ),
    _of_partitions(
        "log_log_logendoffset", "Next offset of the log", lambda partition: partition.log.log_end_offset
    ),
    _of_partitions(
        "log_log_numlogsegments", "Segments of the log", lambda partition: len(partition.log.local.segments)
    ),
    Family(
        "kafka_log_logmanager_offlinelogdirectorycount",
        Kind.GAUGE,
        "Log directories that have failed.",
        (),
        lambda scrape: alone(sum(value for _, value in _directories(scrape))),
    ),
    Family(
        "kafka_log_logmanager_logdirectoryoffline",
        Kind.GAUGE,
        "1 if a log directory has failed.",
        ("logDirectory",),
        _directories,
    ),
)
"""The metrics of topics and partitions, in the order of the page."""
