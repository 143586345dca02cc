"""Configuration keys of replication: one row per key of Kafka 3.9."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, Scope, no_effect, refused
from kcompat.config.types import ConfigType
from kcompat.config.validators import FormatVersion, OneOf, Range

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
LONG = ConfigType.LONG
CLASS = ConfigType.CLASS
HIGH = Importance.HIGH
LOW = Importance.LOW
CLUSTER = Scope.CLUSTER

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    ConfigKey("min.insync.replicas", INT, "1", "In-sync replicas that a write with acks=all needs.", HIGH,
              Range(1), scope=CLUSTER),
    ConfigKey("replication.quota.window.num", INT, "11", "Samples kept for the throttle on replicas.", LOW,
              Range(1)),
    ConfigKey("replication.quota.window.size.seconds", INT, "1",
              "Length of a sample of the throttle on replicas.", LOW, Range(1)),
    ConfigKey("replica.selector.class", STRING, None,
              "Whether consumers read from the leader, or are sent to a replica in their rack.",
              validator=OneOf(("org.apache.kafka.common.replica.LeaderSelector",
                               "org.apache.kafka.common.replica.RackAwareReplicaSelector"))),
    ConfigKey("replica.lag.time.max.ms", LONG, "30000",
              "Time without catching up after which a follower leaves the ISR.", HIGH),
    ConfigKey("replica.high.watermark.checkpoint.interval.ms", LONG, "5000",
              "How often high watermarks are written to disk.", HIGH),
    *no_effect(
        "there is no other replica to elect until replication is supported",
        ConfigKey("unclean.leader.election.enable", BOOLEAN, "false",
                  "Whether a replica outside the ISR may become leader when no other is left.", HIGH,
                  scope=CLUSTER),
    ),
    *no_effect(
        "there is no KRaft quorum; metadata is kept in the broker's own store",
        ConfigKey("unclean.leader.election.interval.ms", LONG, "300000",
                  "How often the controller looks for partitions that need an unclean election.",
                  validator=Range(1), internal=True),
        ConfigKey("eligible.leader.replicas.enable", BOOLEAN, "false",
                  "Whether eligible leader replicas are tracked.", HIGH),
    ),
    ConfigKey("num.replica.fetchers", INT, "1", "Fetchers per source broker.", HIGH, scope=CLUSTER),
    ConfigKey("replica.fetch.backoff.ms", INT, "1000", "Pause of a fetcher after an error.",
              validator=Range(0)),
    ConfigKey("replica.fetch.max.bytes", INT, "1048576",
              "Bytes fetched per partition by a follower; unless it is set, 4 MiB by one that is behind.",
              validator=Range(0)),
    ConfigKey("replica.fetch.min.bytes", INT, "1", "Bytes a follower waits for.", HIGH),
    ConfigKey("replica.fetch.response.max.bytes", INT, "10485760", "Bytes in one answer to a follower.",
              validator=Range(0)),
    ConfigKey("replica.fetch.wait.max.ms", INT, "500", "Longest wait of a follower's fetch.", HIGH),
    ConfigKey("replica.socket.receive.buffer.bytes", INT, "65536", "SO_RCVBUF of a fetcher's socket.",
              HIGH),
    ConfigKey("replica.socket.timeout.ms", INT, "30000", "Socket timeout of a fetcher.", HIGH),
    ConfigKey("inter.broker.protocol.version", STRING, "3.9-IV0",
              "Version of the requests among brokers.", validator=FormatVersion()),
    *refused(
        "there is no Java virtual machine to load classes into",
        ConfigKey("client.quota.callback.class", CLASS, None, "Java class that decides client quotas.", LOW),
    ),
    ConfigKey("alter.log.dirs.replication.quota.window.num", INT, "11",
              "Samples kept for the quota on moves between directories.", LOW, Range(1)),
    ConfigKey("alter.log.dirs.replication.quota.window.size.seconds", INT, "1",
              "Length of a sample of the quota on moves between directories.", LOW, Range(1)),
    ConfigKey("controller.quota.window.num", INT, "11", "Samples kept for quotas on topic changes.", LOW,
              Range(1)),
    ConfigKey("controller.quota.window.size.seconds", INT, "1",
              "Length of a sample of quotas on topic changes.", LOW, Range(1)),
    ConfigKey("quota.window.num", INT, "11", "Samples kept for client quotas.", LOW, Range(1)),
    ConfigKey("quota.window.size.seconds", INT, "1", "Length of a sample of client quotas.", LOW, Range(1)),
)
# fmt: on
