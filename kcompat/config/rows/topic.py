"""Configuration keys of topics: one row per key of Kafka 3.9."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, no_effect
from kcompat.config.types import ConfigType
from kcompat.config.validators import EachOneOf, FormatVersion, GzipLevel, OneOf, Range, ThrottledReplicas

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
LONG = ConfigType.LONG
DOUBLE = ConfigType.DOUBLE
LIST = ConfigType.LIST
LOW = Importance.LOW

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    ConfigKey("cleanup.policy", LIST, "delete", "What becomes of old segments: `delete`, `compact`, or both.",
              validator=EachOneOf(("compact", "delete",))),
    ConfigKey("compression.type", STRING, "producer",
              "Codec that batches are stored in; `producer` keeps the producer's.",
              validator=OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer",))),
    ConfigKey("file.delete.delay.ms", LONG, "60000", "How long a deleted segment's files stay on disk.",
              validator=Range(0)),
    ConfigKey("flush.messages", LONG, "9223372036854775807",
              "Messages after which the log is forced to disk.", validator=Range(1)),
    ConfigKey("flush.ms", LONG, "9223372036854775807", "Longest time messages stay unforced.",
              validator=Range(0)),
    ConfigKey("index.interval.bytes", INT, "4096", "Bytes of records between two index entries.",
              validator=Range(0)),
    ConfigKey("max.message.bytes", INT, "1048588", "Largest batch of records accepted, after compression.",
              validator=Range(0)),
    ConfigKey("message.timestamp.after.max.ms", LONG, "9223372036854775807",
              "How far a record's timestamp may lie in the future.", validator=Range(0)),
    ConfigKey("message.timestamp.before.max.ms", LONG, "9223372036854775807",
              "How far a record's timestamp may lie in the past.", validator=Range(0)),
    ConfigKey("message.timestamp.difference.max.ms", LONG, "9223372036854775807",
              "Older name for both timestamp bounds, used where those are unset.", validator=Range(0)),
    ConfigKey("message.timestamp.type", STRING, "CreateTime",
              "Whether records keep the producer's timestamp or take the time of the append.",
              validator=OneOf(("CreateTime", "LogAppendTime",))),
    ConfigKey("min.insync.replicas", INT, "1", "In-sync replicas that a write with acks=all needs.",
              validator=Range(1)),
    ConfigKey("preallocate", BOOLEAN, "false",
              "Whether segment files are allocated in full when they are created."),
    ConfigKey("retention.bytes", LONG, "-1",
              "Size of a partition beyond which its oldest segments are deleted; -1 for no limit."),
    ConfigKey("retention.ms", LONG, "604800000", "Age at which segments are deleted; -1 for never.",
              validator=Range(-1)),
    ConfigKey("segment.bytes", INT, "1073741824", "Largest size of a segment file.", validator=Range(14)),
    ConfigKey("segment.index.bytes", INT, "10485760", "Largest size of an index file.", validator=Range(4)),
    ConfigKey("segment.jitter.ms", LONG, "0", "Largest random reduction of the roll time.",
              validator=Range(0)),
    ConfigKey("segment.ms", LONG, "604800000", "Oldest age of an active segment before a new one is begun.",
              validator=Range(1)),
    ConfigKey("compression.gzip.level", INT, "-1", "Level used when the broker compresses with gzip.",
              validator=GzipLevel()),
    ConfigKey("compression.lz4.level", INT, "9",
              "Level used when the broker compresses with LZ4; 9 is its quickest method, all others are "
              "those for high compression.", validator=Range(1, 17)),
    ConfigKey("compression.zstd.level", INT, "3", "Level used when the broker compresses with Zstandard.",
              validator=Range(-131072, 22)),
    ConfigKey("delete.retention.ms", LONG, "86400000", "How long tombstones stay in a compacted log.",
              validator=Range(0)),
    ConfigKey("max.compaction.lag.ms", LONG, "9223372036854775807",
              "Longest time a record stays ineligible for compaction.", validator=Range(1)),
    ConfigKey("min.cleanable.dirty.ratio", DOUBLE, "0.5",
              "Share of uncleaned bytes at which the log is compacted.", validator=Range(0, 1)),
    ConfigKey("min.compaction.lag.ms", LONG, "0", "Shortest time a record stays uncompacted.",
              validator=Range(0)),
    ConfigKey("follower.replication.throttled.replicas", LIST, "",
              "Replicas whose followers are throttled, as partition:broker pairs or `*`.",
              validator=ThrottledReplicas("follower.replication.throttled.replicas")),
    ConfigKey("leader.replication.throttled.replicas", LIST, "",
              "Replicas whose leaders are throttled, as partition:broker pairs or `*`.",
              validator=ThrottledReplicas("leader.replication.throttled.replicas")),
    *no_effect(
        "tiered storage is not supported",
        ConfigKey("local.retention.bytes", LONG, "-2",
                  "Bytes of a tiered partition kept locally; -2 takes `retention.bytes`.",
                  validator=Range(-2)),
        ConfigKey("local.retention.ms", LONG, "-2",
                  "Age of a tiered partition's local segments; -2 takes `retention.ms`.",
                  validator=Range(-2)),
        ConfigKey("remote.log.copy.disable", BOOLEAN, "false",
                  "Whether copies of a tiered topic to remote storage stop."),
        ConfigKey("remote.log.delete.on.disable", BOOLEAN, "false",
                  "Whether remote data is deleted when tiering is turned off."),
        ConfigKey("remote.storage.enable", BOOLEAN, "false",
                  "Whether the topic is tiered; refused, as on a Kafka without tiered storage."),
    ),
    ConfigKey("message.downconversion.enable", BOOLEAN, "true",
              "Whether batches are converted for consumers that need an older format.", LOW),
    *no_effect(
        "batches are stored in format v2, as by any Kafka since 3.0",
        ConfigKey("message.format.version", STRING, "3.0-IV1",
                  "Message format on disk. Since Kafka 3.0 new batches are always v2.",
                  validator=FormatVersion()),
    ),
    *no_effect(
        "there is no other replica to elect until replication is supported",
        ConfigKey("unclean.leader.election.enable", BOOLEAN, "false",
                  "Whether a replica outside the ISR may become leader when no other is left."),
    ),
)
# fmt: on
