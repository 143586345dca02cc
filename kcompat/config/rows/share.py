"""Share groups: the keys that Kafka 4.3 has for them beyond those of 3.9."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, no_effect
from kcompat.config.types import ConfigType
from kcompat.config.validators import EachOneOf, Range

STRING = ConfigType.STRING
LIST = ConfigType.LIST
INT = ConfigType.INT
SHORT = ConfigType.SHORT
HIGH = Importance.HIGH
LOW = Importance.LOW

ASSIGNORS = ("simple", "org.apache.kafka.coordinator.group.assignor.SimpleAssignor")
"""The server-side assignor of share groups, by name and by class."""

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    ConfigKey("group.share.assignment.interval.ms", INT, "1000",
              "How long a target assignment of a share group lasts at least.", validator=Range(0)),
    ConfigKey("group.share.assignors", LIST, "simple",
              "The server-side assignor of share groups, the only one there is.",
              validator=EachOneOf(ASSIGNORS)),
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
