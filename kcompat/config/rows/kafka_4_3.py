"""Keys that Kafka 4.3 has beyond those of 3.9, for groups and transactions."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, no_effect
from kcompat.config.types import ConfigType
from kcompat.config.validators import EachOneOf, Range

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
LIST = ConfigType.LIST
INT = ConfigType.INT
SHORT = ConfigType.SHORT
HIGH = Importance.HIGH
LOW = Importance.LOW

SHARE_ASSIGNORS = ("simple", "org.apache.kafka.coordinator.group.assignor.SimpleAssignor")
"""The server-side assignor of share groups, by name and by class."""

# fmt: off
CONSUMER_GROUPS: tuple[ConfigKey, ...] = (
    ConfigKey("group.consumer.regex.refresh.interval.ms", INT, "600000",
              "How often the topics are looked up that the patterns of a group match. New topics are found "
              "sooner; what its members may describe may have changed without that.",
              validator=Range(10_000), internal=True),
    *no_effect(
        "one event loop does the work; there are no thread pools to size",
        ConfigKey("group.coordinator.background.threads", INT, "2",
                  "Threads that look up patterns and make assignments.", HIGH, Range(1)),
    ),
)

SHARE_GROUPS: tuple[ConfigKey, ...] = (
    ConfigKey("group.share.assignment.interval.ms", INT, "1000",
              "How long a target assignment of a share group lasts at least.", validator=Range(0)),
    ConfigKey("group.share.assignors", LIST, "simple",
              "The server-side assignor of share groups, the only one there is.",
              validator=EachOneOf(SHARE_ASSIGNORS)),
    ConfigKey("group.share.initialize.retry.interval.ms", INT, "30000",
              "How long the share coordinator is waited for before it is asked again.", LOW, Range(1),
              internal=True),
    ConfigKey("group.share.max.assignment.interval.ms", INT, "15000",
              "Longest time that a share group may have a target assignment last at least.",
              validator=Range(0)),
    ConfigKey("group.share.max.delivery.count.limit", INT, "10",
              "Most deliveries of a record that a share group may set for itself.", validator=Range(5, 25)),
    ConfigKey("group.share.max.partition.max.record.locks", INT, "4000",
              "Most records acquired at one time that a share group may set for itself.",
              validator=Range(2000, 10000)),
    ConfigKey("group.share.max.share.sessions", INT, "2000", "Share sessions at one time.",
              validator=Range(1)),
    ConfigKey("group.share.min.assignment.interval.ms", INT, "0",
              "Shortest time that a share group may have a target assignment last at least.",
              validator=Range(0)),
    ConfigKey("group.share.min.delivery.count.limit", INT, "2",
              "Fewest deliveries of a record that a share group may set for itself.", validator=Range(2, 5)),
    ConfigKey("group.share.min.partition.max.record.locks", INT, "100",
              "Fewest records acquired at one time that a share group may set for itself.",
              validator=Range(100, 2000)),
    ConfigKey("share.coordinator.cold.partition.snapshot.interval.ms", INT, "300000",
              "How often the state of share partitions that do not change is written anew.", LOW, Range(1),
              internal=True),
    ConfigKey("share.coordinator.snapshot.update.records.per.snapshot", INT, "500",
              "Updates of a share partition's state between two snapshots.", validator=Range(0, 500)),
    ConfigKey("share.coordinator.state.topic.min.isr", SHORT, "2",
              "`min.insync.replicas` of the share state topic; fewer where it has fewer replicas.", HIGH,
              Range(1)),
    ConfigKey("share.coordinator.state.topic.num.partitions", INT, "50",
              "Partitions of the share state topic.", HIGH, Range(1)),
    ConfigKey("share.coordinator.state.topic.prune.interval.ms", INT, "300000",
              "How often what is redundant in the share state topic is deleted.", LOW, Range(1),
              internal=True),
    ConfigKey("share.coordinator.state.topic.replication.factor", SHORT, "3",
              "Replicas of the share state topic; at most the size of a cluster that none can join.", HIGH,
              Range(1)),
    ConfigKey("share.coordinator.state.topic.segment.bytes", INT, "104857600",
              "Segment size of the share state topic.", HIGH, Range(1)),
    ConfigKey("share.coordinator.write.timeout.ms", INT, "5000",
              "How long a write to the share state topic may wait for its replicas.", HIGH, Range(1)),
    *no_effect(
        "every write of the coordinator is appended at once",
        ConfigKey("share.coordinator.append.linger.ms", INT, "-1",
                  "How long the share coordinator gathers writes.", validator=Range(-1)),
        ConfigKey("share.coordinator.cached.buffer.max.bytes", INT, "1048588",
                  "Largest buffer the share coordinator keeps.", validator=Range(524288)),
    ),
    *no_effect(
        "state is read back in slices of a fixed size",
        ConfigKey("share.coordinator.load.buffer.size", INT, "5242880",
                  "Batch size used when share state is read back.", HIGH, Range(1)),
    ),
    *no_effect(
        "share state is stored uncompressed, which is the default",
        ConfigKey("share.coordinator.state.topic.compression.codec", INT, "0",
                  "Codec of the share state topic, by number.", HIGH),
    ),
    *no_effect(
        "one event loop does the work; there are no thread pools to size",
        ConfigKey("share.coordinator.threads", INT, "1", "Threads of the share coordinator.",
                  validator=Range(1)),
        ConfigKey("share.fetch.purgatory.purge.interval.requests", INT, "1000",
                  "Share fetches between two purges of those that wait."),
    ),
    *no_effect(
        "there is one place where share state is kept",
        ConfigKey("group.share.persister.class.name", STRING,
                  "org.apache.kafka.server.share.persister.DefaultStatePersister",
                  "What keeps the state of share partitions.", internal=True),
    ),
)

STREAMS_GROUPS: tuple[ConfigKey, ...] = (
    ConfigKey("group.streams.assignment.interval.ms", INT, "1000",
              "How long a target assignment of a streams group lasts at least.", validator=Range(0)),
    ConfigKey("group.streams.heartbeat.interval.ms", INT, "5000", "Heartbeat interval given to members.",
              validator=Range(1)),
    ConfigKey("group.streams.initial.rebalance.delay.ms", INT, "3000",
              "How long a streams group without members waits for more after the first has come.",
              validator=Range(0)),
    ConfigKey("group.streams.max.assignment.interval.ms", INT, "15000",
              "Longest time that a streams group may have a target assignment last at least.",
              validator=Range(0)),
    ConfigKey("group.streams.max.heartbeat.interval.ms", INT, "15000",
              "Longest heartbeat interval that a streams group may set for itself.", validator=Range(1)),
    ConfigKey("group.streams.max.session.timeout.ms", INT, "60000",
              "Longest session timeout that a streams group may set for itself.", validator=Range(1)),
    ConfigKey("group.streams.max.size", INT, "2147483647", "Members a streams group may have.",
              validator=Range(1)),
    ConfigKey("group.streams.max.standby.replicas", INT, "2",
              "Most standby replicas that a streams group may set for itself.", validator=Range(0)),
    ConfigKey("group.streams.min.assignment.interval.ms", INT, "0",
              "Shortest time that a streams group may have a target assignment last at least.",
              validator=Range(0)),
    ConfigKey("group.streams.min.heartbeat.interval.ms", INT, "5000",
              "Shortest heartbeat interval that a streams group may set for itself.", validator=Range(1)),
    ConfigKey("group.streams.min.session.timeout.ms", INT, "45000",
              "Shortest session timeout that a streams group may set for itself.", validator=Range(1)),
    ConfigKey("group.streams.num.standby.replicas", INT, "0",
              "Standby replicas of each task that keeps state.", validator=Range(0)),
    ConfigKey("group.streams.session.timeout.ms", INT, "45000", "Session timeout of members.",
              validator=Range(1)),
)

TRANSACTIONS: tuple[ConfigKey, ...] = (
    *no_effect(
        "no stable version of InitProducerId can ask for it",
        ConfigKey("transaction.two.phase.commit.enable", BOOLEAN, "false",
                  "Whether producers may have transactions without a timeout, which others decide.",
                  LOW),
    ),
)

ROWS: tuple[ConfigKey, ...] = (*CONSUMER_GROUPS, *SHARE_GROUPS, *STREAMS_GROUPS, *TRANSACTIONS)
"""All of the keys in this module."""
