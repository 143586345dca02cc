"""Configuration keys of a broker's identity, policies and metrics: one row per key of Kafka 3.9."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, Scope, no_effect, refused
from kcompat.config.types import ConfigType
from kcompat.config.validators import Range

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
LONG = ConfigType.LONG
LIST = ConfigType.LIST
CLASS = ConfigType.CLASS
HIGH = Importance.HIGH
LOW = Importance.LOW
CLUSTER = Scope.CLUSTER

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    ConfigKey("broker.id", INT, "-1", "Number of this broker; -1 stands for 1, with ZooKeeper for a new one.",
              HIGH),
    ConfigKey("node.id", INT, "-1", "The same as `broker.id`, under its newer name.", HIGH),
    ConfigKey("broker.rack", STRING, None,
              "Rack of this broker, for replica placement and reads from the nearest replica."),
    ConfigKey("auto.create.topics.enable", BOOLEAN, "true",
              "Whether asking for the metadata of an absent topic creates it.", HIGH),
    ConfigKey("delete.topic.enable", BOOLEAN, "true", "Whether topics can be deleted.", HIGH),
    ConfigKey("default.replication.factor", INT, "1", "Replicas of a topic created without a count."),
    ConfigKey("num.partitions", INT, "1", "Partitions of a topic created without a count.",
              validator=Range(1)),
    ConfigKey("broker.id.generation.enable", BOOLEAN, "true",
              "Whether ZooKeeper may give a number to a broker without one."),
    ConfigKey("reserved.broker.max.id", INT, "1000",
              "Numbers above this one are given to brokers without one.", validator=Range(0)),
    *refused(
        "there is no Java virtual machine to load classes into",
        ConfigKey("alter.config.policy.class.name", CLASS, None,
                  "Java class that may veto configuration changes.", LOW),
        ConfigKey("create.topic.policy.class.name", CLASS, None, "Java class that may veto new topics.", LOW),
    ),
    *no_effect(
        "there is no Java virtual machine to load classes into",
        ConfigKey("alter.config.policy.kraft.compatibility.enable", BOOLEAN, "false",
                  "How the alteration policy sees incremental changes.", LOW),
        ConfigKey("auto.include.jmx.reporter", BOOLEAN, "true",
                  "Whether metrics are also published through JMX.", LOW),
        ConfigKey("kafka.metrics.polling.interval.secs", INT, "10", "How often Yammer reporters are polled.",
                  LOW, Range(1)),
        ConfigKey("kafka.metrics.reporters", LIST, "", "Yammer reporter classes.", LOW),
        ConfigKey("metric.reporters", LIST, "", "Metrics reporter classes.", LOW, scope=CLUSTER),
    ),
    *no_effect(
        "metrics are plain counters without windows",
        ConfigKey("metrics.num.samples", INT, "2", "Samples kept for a windowed metric.", LOW, Range(1)),
        ConfigKey("metrics.recording.level", STRING, "INFO", "Detail of recorded metrics.", LOW),
        ConfigKey("metrics.sample.window.ms", LONG, "30000", "Length of one sample of a windowed metric.",
                  LOW, Range(1)),
    ),
    *no_effect(
        "clients are not asked for telemetry",
        ConfigKey("telemetry.max.bytes", INT, "1048576", "Largest telemetry report taken from a client.", LOW,
                  Range(1)),
    ),
    ConfigKey("auto.leader.rebalance.enable", BOOLEAN, "true",
              "Whether leadership returns to preferred replicas in the background.", HIGH),
    ConfigKey("leader.imbalance.check.interval.seconds", LONG, "300",
              "How often leadership is checked for imbalance.", HIGH, Range(1)),
    ConfigKey("leader.imbalance.per.broker.percentage", INT, "10",
              "Share of misplaced leaders per broker that triggers a rebalance.", HIGH),
    ConfigKey("controlled.shutdown.enable", BOOLEAN, "true",
              "Whether leadership is handed over before a shutdown."),
    ConfigKey("controlled.shutdown.max.retries", INT, "3", "Attempts at a controlled shutdown."),
    ConfigKey("controlled.shutdown.retry.backoff.ms", LONG, "5000",
              "Pause between attempts at a controlled shutdown."),
    ConfigKey("controller.socket.timeout.ms", INT, "30000",
              "Socket timeout from the controller to brokers."),
    *no_effect(
        "the broker is ready as a whole, in one step",
        ConfigKey("server.max.startup.time.ms", LONG, "9223372036854775807",
                  "Longest time the start may take.", validator=Range(0), internal=True),
    ),
)
# fmt: on
