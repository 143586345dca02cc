"""Configuration keys of groups, offsets and transactions: one row per key of Kafka 3.9."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, Scope, no_effect
from kcompat.config.types import ConfigType
from kcompat.config.validators import EachOneOf, OneOf, Range

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
SHORT = ConfigType.SHORT
LONG = ConfigType.LONG
LIST = ConfigType.LIST
HIGH = Importance.HIGH
LOW = Importance.LOW
CLUSTER = Scope.CLUSTER

ASSIGNORS = {
    "uniform": "org.apache.kafka.coordinator.group.assignor.UniformAssignor",
    "range": "org.apache.kafka.coordinator.group.assignor.RangeAssignor",
}
"""Class names of the server-side assignors, by which Kafka 3.9 configures them."""

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    ConfigKey("group.initial.rebalance.delay.ms", INT, "0",
              "How long a new group waits for more members before its first rebalance. Kafka's default is "
              "3000; with 0 it waits 200 ms where others have just asked for the group."),
    ConfigKey("group.max.session.timeout.ms", INT, "1800000",
              "Longest session timeout a member may ask for."),
    ConfigKey("group.min.session.timeout.ms", INT, "6000", "Shortest session timeout a member may ask for."),
    ConfigKey("group.max.size", INT, "2147483647", "Members a group may have.", validator=Range(1)),
    ConfigKey("offset.metadata.max.bytes", INT, "4096", "Longest metadata string of a committed offset.",
              HIGH),
    ConfigKey("offsets.commit.timeout.ms", INT, "5000", "How long a commit may wait for its replicas.", HIGH,
              Range(1)),
    ConfigKey("offsets.retention.check.interval.ms", LONG, "600000",
              "How often expired offsets are looked for.", HIGH, Range(1)),
    ConfigKey("offsets.retention.minutes", INT, "10080", "How long the offsets of an empty group are kept.",
              HIGH, Range(1)),
    ConfigKey("offsets.topic.num.partitions", INT, "50", "Partitions of the offsets topic.", HIGH, Range(1)),
    ConfigKey("offsets.topic.replication.factor", SHORT, "3",
              "Replicas of the offsets topic; at most the size of a cluster that none can join.", HIGH,
              Range(1)),
    ConfigKey("offsets.topic.segment.bytes", INT, "104857600", "Segment size of the offsets topic.", HIGH,
              Range(1)),
    *no_effect(
        "a commit is answered once every in-sync replica has it, which is the default",
        ConfigKey("offsets.commit.required.acks", SHORT, "-1", "Acks a commit needs before it is answered.",
                  HIGH),
    ),
    *no_effect(
        "state is read back in slices of a fixed size",
        ConfigKey("offsets.load.buffer.size", INT, "5242880",
                  "Batch size used when offsets are read back at start.", HIGH, Range(1)),
        ConfigKey("transaction.state.log.load.buffer.size", INT, "5242880",
                  "Batch size used when transaction state is read back.", HIGH, Range(1)),
    ),
    *no_effect(
        "commits are stored uncompressed, which is the default",
        ConfigKey("offsets.topic.compression.codec", INT, "0", "Codec of the offsets topic, by number.",
                  HIGH),
    ),
    *no_effect(
        "every write of the coordinator is appended at once",
        ConfigKey("group.coordinator.append.linger.ms", INT, "10",
                  "How long the new coordinator gathers writes.", validator=Range(0)),
        ConfigKey("group.coordinator.new.enable", BOOLEAN, "false",
                  "Switch of Kafka's rewritten coordinator.", internal=True),
    ),
    ConfigKey("group.coordinator.rebalance.protocols", LIST, "classic,consumer,streams",
              "Group protocols that are served. Kafka 3.9 has the default classic, Kafka 4.3 this one.",
              validator=EachOneOf(("consumer", "classic", "share", "streams", "unknown",))),
    ConfigKey("group.consumer.assignors", LIST,
              ""
              "org.apache.kafka.coordinator.group.assignor.UniformAssignor,org.apache.kafka.coordinator.group.assignor.RangeAssignor",
              "Server-side assignors of the consumer group protocol, by class or by name (uniform, range); "
              "the first is the default.",
              validator=EachOneOf((*ASSIGNORS, *ASSIGNORS.values()))),
    ConfigKey("group.consumer.heartbeat.interval.ms", INT, "5000", "Heartbeat interval given to members.",
              validator=Range(1)),
    ConfigKey("group.consumer.max.size", INT, "2147483647", "Members a consumer group may have.",
              validator=Range(1)),
    ConfigKey("group.consumer.session.timeout.ms", INT, "45000", "Session timeout of members.",
              validator=Range(1)),
    ConfigKey("group.consumer.max.heartbeat.interval.ms", INT, "15000",
              "Longest heartbeat interval that a group may set for itself.", validator=Range(1)),
    ConfigKey("group.consumer.max.session.timeout.ms", INT, "60000",
              "Longest session timeout that a group may set for itself.", validator=Range(1)),
    ConfigKey("group.consumer.min.heartbeat.interval.ms", INT, "5000",
              "Shortest heartbeat interval that a group may set for itself.", validator=Range(1)),
    ConfigKey("group.consumer.min.session.timeout.ms", INT, "45000",
              "Shortest session timeout that a group may set for itself.", validator=Range(1)),
    ConfigKey("group.consumer.migration.policy", STRING, "bidirectional",
              "Whether groups that have members move between the classic and the new protocol. Kafka 3.9 has "
              "the default disabled, Kafka 4 this one.",
              validator=OneOf(("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL",), ignore_case=True),
              internal=True),
    *no_effect(
        "one event loop does the work; there are no thread pools to size",
        ConfigKey("group.coordinator.threads", INT, "1", "Threads of the new coordinator.",
                  validator=Range(1)),
    ),
    ConfigKey("group.share.delivery.count.limit", INT, "5",
              "Deliveries of a record before it is given up.", validator=Range(2, 10)),
    ConfigKey("group.share.heartbeat.interval.ms", INT, "5000", "Heartbeat interval given to members.",
              validator=Range(1)),
    ConfigKey("group.share.max.size", SHORT, "200", "Members a share group may have.",
              validator=Range(10, 1000)),
    ConfigKey("group.share.partition.max.record.locks", INT, "200",
              "Records acquired at one time in one partition. Kafka 4.3 has the default 2000.",
              validator=Range(100, 10000)),
    ConfigKey("group.share.record.lock.duration.ms", INT, "30000",
              "How long an acquired record stays locked.", validator=Range(1000, 60000)),
    ConfigKey("group.share.session.timeout.ms", INT, "45000", "Session timeout of members.",
              validator=Range(1)),
    *no_effect(
        "`share.version` is the switch, and as in Kafka 4 there are as many share groups as are wanted",
        ConfigKey("group.share.enable", BOOLEAN, "false", "Whether share groups are served.", internal=True),
        ConfigKey("group.share.max.groups", SHORT, "10", "Share groups at one time.",
                  validator=Range(1, 100)),
    ),
    ConfigKey("group.share.max.heartbeat.interval.ms", INT, "15000",
              "Longest heartbeat interval that a share group may set for itself.", validator=Range(1)),
    ConfigKey("group.share.max.record.lock.duration.ms", INT, "60000",
              "Longest lock that a share group may set for itself.", validator=Range(30000, 3600000)),
    ConfigKey("group.share.max.session.timeout.ms", INT, "60000",
              "Longest session timeout that a share group may set for itself.", validator=Range(1)),
    ConfigKey("group.share.min.heartbeat.interval.ms", INT, "5000",
              "Shortest heartbeat interval that a share group may set for itself.", validator=Range(1)),
    ConfigKey("group.share.min.record.lock.duration.ms", INT, "15000",
              "Shortest lock that a share group may set for itself.", validator=Range(1000, 30000)),
    ConfigKey("group.share.min.session.timeout.ms", INT, "45000",
              "Shortest session timeout that a share group may set for itself.", validator=Range(1)),
    ConfigKey("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, "10000",
              "How often transactions over their timeout are looked for.", LOW, Range(1)),
    ConfigKey("transaction.max.timeout.ms", INT, "900000",
              "Longest transaction timeout a producer may ask for.", HIGH, Range(1)),
    ConfigKey("transaction.partition.verification.enable", BOOLEAN, "true",
              "Whether a partition checks that it was added to the transaction.", LOW, scope=CLUSTER),
    ConfigKey("transaction.remove.expired.transaction.cleanup.interval.ms", INT, "3600000",
              "How often expired transactional ids are looked for.", LOW, Range(1)),
    ConfigKey("transaction.state.log.min.isr", INT, "2",
              "In-sync replicas that the transaction topic needs.", HIGH, Range(1)),
    ConfigKey("transaction.state.log.num.partitions", INT, "50", "Partitions of the transaction topic.",
              HIGH, Range(1)),
    ConfigKey("transaction.state.log.replication.factor", SHORT, "3",
              "Replicas of the transaction topic; at most the size of a cluster that none can join.", HIGH,
              Range(1)),
    ConfigKey("transaction.state.log.segment.bytes", INT, "104857600",
              "Segment size of the transaction topic.", HIGH, Range(1)),
    ConfigKey("transactional.id.expiration.ms", INT, "604800000",
              "Idle time after which a transactional id is forgotten.", HIGH, Range(1)),
)
# fmt: on
