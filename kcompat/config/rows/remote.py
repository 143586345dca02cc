"""Configuration keys of tiered storage: one row per key of Kafka 3.9."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, Scope, no_effect, refused
from kcompat.config.types import ConfigType
from kcompat.config.validators import NotEmpty, PositiveOrDefault, Range

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
LONG = ConfigType.LONG
DOUBLE = ConfigType.DOUBLE
LOW = Importance.LOW
CLUSTER = Scope.CLUSTER

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    *refused(
        "tiered storage is not supported",
        ConfigKey("remote.log.storage.system.enable", BOOLEAN, "false", "Whether tiered storage is on."),
    ),
    *no_effect(
        "tiered storage is not supported",
        ConfigKey("log.local.retention.bytes", LONG, "-2",
                  "Bytes of a tiered partition kept locally; -2 takes `log.retention.bytes`.",
                  validator=Range(-2), scope=CLUSTER),
        ConfigKey("log.local.retention.ms", LONG, "-2",
                  "Age of a tiered partition's local segments; -2 takes `log.retention.ms`.",
                  validator=Range(-2), scope=CLUSTER),
        ConfigKey("remote.fetch.max.wait.ms", INT, "500", "Longest wait of a fetch that reads remote data.",
                  validator=Range(1), scope=CLUSTER),
        ConfigKey("remote.log.index.file.cache.total.size.bytes", LONG, "1073741824",
                  "Space for cached remote indexes.", LOW, Range(1), scope=CLUSTER),
        ConfigKey("remote.log.manager.copier.thread.pool.size", INT, "-1", "Threads that copy segments.",
                  validator=PositiveOrDefault()),
        ConfigKey("remote.log.manager.copy.max.bytes.per.second", LONG, "9223372036854775807",
                  "Rate limit of copies.", validator=Range(1), scope=CLUSTER),
        ConfigKey("remote.log.manager.copy.quota.window.num", INT, "11", "Samples kept for the copy quota.",
                  validator=Range(1)),
        ConfigKey("remote.log.manager.copy.quota.window.size.seconds", INT, "1",
                  "Length of a sample of the copy quota.", validator=Range(1)),
        ConfigKey("remote.log.manager.expiration.thread.pool.size", INT, "-1",
                  "Threads that delete expired remote segments.", validator=PositiveOrDefault()),
        ConfigKey("remote.log.manager.fetch.max.bytes.per.second", LONG, "9223372036854775807",
                  "Rate limit of remote reads.", validator=Range(1), scope=CLUSTER),
        ConfigKey("remote.log.manager.fetch.quota.window.num", INT, "11",
                  "Samples kept for the remote read quota.", validator=Range(1)),
        ConfigKey("remote.log.manager.fetch.quota.window.size.seconds", INT, "1",
                  "Length of a sample of the remote read quota.", validator=Range(1)),
        ConfigKey("remote.log.manager.task.interval.ms", LONG, "30000", "How often tiering tasks run.", LOW,
                  Range(1)),
        ConfigKey("remote.log.manager.task.retry.backoff.max.ms", LONG, "30000",
                  "Longest pause of a failing task.", LOW, Range(1), internal=True),
        ConfigKey("remote.log.manager.task.retry.backoff.ms", LONG, "500", "First pause of a failing task.",
                  LOW, Range(1), internal=True),
        ConfigKey("remote.log.manager.task.retry.jitter", DOUBLE, "0.2", "Random share of that pause.", LOW,
                  Range(0, 0.5), internal=True),
        ConfigKey("remote.log.manager.thread.pool.size", INT, "10", "Threads that schedule tiering tasks.",
                  validator=Range(1)),
        ConfigKey("remote.log.metadata.custom.metadata.max.bytes", INT, "128",
                  "Largest custom metadata of a segment.", LOW, Range(0)),
        ConfigKey("remote.log.metadata.manager.class.name", STRING,
                  "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
                  "Java class that keeps remote metadata.", validator=NotEmpty()),
        ConfigKey("remote.log.metadata.manager.class.path", STRING, None, "Class path of that class."),
        ConfigKey("remote.log.metadata.manager.impl.prefix", STRING, "rlmm.config.",
                  "Prefix of that class's own keys.", validator=NotEmpty()),
        ConfigKey("remote.log.metadata.manager.listener.name", STRING, None,
                  "Listener that class connects to.", validator=NotEmpty()),
        ConfigKey("remote.log.reader.max.pending.tasks", INT, "100", "Remote reads that may wait.",
                  validator=Range(1)),
        ConfigKey("remote.log.reader.threads", INT, "10", "Threads that read remote data.",
                  validator=Range(1)),
        ConfigKey("remote.log.storage.manager.class.name", STRING, None, "Java class that stores segments.",
                  validator=NotEmpty()),
        ConfigKey("remote.log.storage.manager.class.path", STRING, None, "Class path of that class."),
        ConfigKey("remote.log.storage.manager.impl.prefix", STRING, "rsm.config.",
                  "Prefix of that class's own keys.", validator=NotEmpty()),
    ),
)
# fmt: on
