"""Configuration keys of ZooKeeper and KRaft: one row per key of Kafka 3.9."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, no_effect, refused
from kcompat.config.types import ConfigType
from kcompat.config.validators import EachOneOf, Range

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
LONG = ConfigType.LONG
LIST = ConfigType.LIST
PASSWORD = ConfigType.PASSWORD
HIGH = Importance.HIGH
LOW = Importance.LOW

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    ConfigKey("zookeeper.connect", STRING, None,
              "ZooKeeper servers and an optional chroot. Without it a broker keeps metadata itself.", HIGH),
    ConfigKey("zookeeper.connection.timeout.ms", INT, None,
              "How long to wait for a connection; unset takes the session timeout.", HIGH),
    ConfigKey("zookeeper.max.in.flight.requests", INT, "10", "Unanswered requests allowed.", HIGH,
              Range(1)),
    ConfigKey("zookeeper.session.timeout.ms", INT, "18000", "Session timeout.", HIGH),
    ConfigKey("zookeeper.set.acl", BOOLEAN, "false",
              "Whether znodes belong to the brokers, which the environment variable KCOMPAT_ZOOKEEPER_AUTH "
              "(digest:USER:PASSWORD) or the key store names.", HIGH),
    ConfigKey("zookeeper.ssl.cipher.suites", LIST, None, "Cipher suites towards ZooKeeper.", LOW),
    ConfigKey("zookeeper.ssl.client.enable", BOOLEAN, "false",
              "Whether ZooKeeper is reached through TLS."),
    ConfigKey("zookeeper.ssl.crl.enable", BOOLEAN, "false", "Whether revocation lists are consulted.",
              LOW),
    ConfigKey("zookeeper.ssl.enabled.protocols", LIST, None, "TLS versions allowed towards ZooKeeper.",
              LOW),
    ConfigKey("zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS",
              "How ZooKeeper's host names are checked.", LOW),
    ConfigKey("zookeeper.ssl.keystore.location", STRING, None, "Key store towards ZooKeeper."),
    ConfigKey("zookeeper.ssl.keystore.password", PASSWORD, None, "Password of that key store."),
    ConfigKey("zookeeper.ssl.keystore.type", STRING, None, "Format of that key store."),
    ConfigKey("zookeeper.ssl.protocol", STRING, "TLSv1.2", "TLS version preferred towards ZooKeeper.",
              LOW),
    ConfigKey("zookeeper.ssl.truststore.location", STRING, None, "Trust store towards ZooKeeper."),
    ConfigKey("zookeeper.ssl.truststore.password", PASSWORD, None, "Password of that trust store."),
    ConfigKey("zookeeper.ssl.truststore.type", STRING, None, "Format of that trust store."),
    *no_effect(
        "ZooKeeper is reached through a library of Python, not of Java",
        ConfigKey("zookeeper.clientCnxnSocket", STRING, None, "Socket class of the ZooKeeper client."),
    ),
    *refused(
        "the library of Python that reaches ZooKeeper does not ask for OCSP",
        ConfigKey("zookeeper.ssl.ocsp.enable", BOOLEAN, "false", "Whether OCSP is consulted.", LOW),
    ),
    *no_effect(
        "there is no KRaft quorum; metadata is kept in the broker's own store",
        ConfigKey("zookeeper.metadata.migration.enable", BOOLEAN, "false",
                  "Whether metadata is being moved to KRaft.", HIGH),
        ConfigKey("zookeeper.metadata.migration.min.batch.size", INT, "200",
                  "Records per batch of that move.", validator=Range(1), internal=True),
        ConfigKey("process.roles", LIST, "",
                  "Roles of a KRaft node. Properties written for KRaft are accepted: the broker role is "
                  "what runs.", HIGH, EachOneOf(("broker", "controller",))),
        ConfigKey("controller.quorum.append.linger.ms", INT, "25", "How long the leader gathers appends."),
        ConfigKey("controller.quorum.bootstrap.servers", LIST, "", "Controllers to begin with.", HIGH),
        ConfigKey("controller.quorum.election.backoff.max.ms", INT, "1000",
                  "Longest pause between elections.", HIGH),
        ConfigKey("controller.quorum.election.timeout.ms", INT, "1000", "Silence before a new election.",
                  HIGH),
        ConfigKey("controller.quorum.fetch.timeout.ms", INT, "2000",
                  "Silence of a leader before a follower stands for election.", HIGH),
        ConfigKey("controller.quorum.request.timeout.ms", INT, "2000", "Timeout of a quorum request."),
        ConfigKey("controller.quorum.retry.backoff.ms", INT, "20", "Pause before a request is repeated.",
                  LOW),
        ConfigKey("controller.quorum.voters", LIST, "", "Voters of the quorum, as id@host:port.", HIGH),
        ConfigKey("broker.heartbeat.interval.ms", INT, "2000",
                  "How often a broker reports to the controller."),
        ConfigKey("broker.session.timeout.ms", INT, "9000", "Silence after which a broker is fenced."),
        ConfigKey("initial.broker.registration.timeout.ms", INT, "60000",
                  "How long a broker tries to register at start."),
        ConfigKey("metadata.log.dir", STRING, None, "Directory of the metadata log.", HIGH),
        ConfigKey("metadata.log.max.record.bytes.between.snapshots", LONG, "20971520",
                  "Bytes of metadata between snapshots.", HIGH, Range(1)),
        ConfigKey("metadata.log.max.snapshot.interval.ms", LONG, "3600000", "Time between snapshots.", HIGH,
                  Range(0)),
        ConfigKey("metadata.log.segment.bytes", INT, "1073741824", "Largest segment of the metadata log.",
                  HIGH, Range(12)),
        ConfigKey("metadata.log.segment.min.bytes", INT, "8388608",
                  "Smallest segment size of the metadata log.", HIGH, Range(12), internal=True),
        ConfigKey("metadata.log.segment.ms", LONG, "604800000", "Oldest active segment of the metadata log.",
                  HIGH),
        ConfigKey("metadata.max.idle.interval.ms", INT, "500", "How often an idle controller writes a no-op.",
                  LOW, Range(0)),
        ConfigKey("metadata.max.retention.bytes", LONG, "104857600",
                  "Size of metadata log and snapshots that is kept.", HIGH),
        ConfigKey("metadata.max.retention.ms", LONG, "604800000",
                  "Age of metadata log and snapshots that is kept.", HIGH),
    ),
    ConfigKey("controller.listener.names", STRING, None,
              "Listeners of the KRaft controller; they are not opened.", HIGH),
)
# fmt: on
