"""Configuration keys of listeners, connections and requests: one row per key of Kafka 3.9."""

from __future__ import annotations

from kcompat.config.keys import ConfigKey, Importance, Scope, no_effect
from kcompat.config.types import ConfigType
from kcompat.config.validators import OneOf, Range

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
LONG = ConfigType.LONG
HIGH = Importance.HIGH
LOW = Importance.LOW
PER_BROKER = Scope.PER_BROKER
CLUSTER = Scope.CLUSTER

# fmt: off
ROWS: tuple[ConfigKey, ...] = (
    ConfigKey("advertised.listeners", STRING, None,
              "Addresses told to clients, where they differ from `listeners`. Unset, a broker that is alone "
              "tells every client the address at which it reached it, and one of several tells all the same. "
              "An empty host means the canonical name of this one.",
              HIGH, scope=PER_BROKER),
    ConfigKey("inter.broker.listener.name", STRING, None, "Listener that brokers use among themselves."),
    ConfigKey("listener.security.protocol.map", STRING,
              "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
              "Security protocol of each listener name, as NAME:PROTOCOL pairs.", LOW, scope=PER_BROKER),
    ConfigKey("listeners", STRING, "PLAINTEXT://:9092",
              "Addresses to listen on, as NAME://host:port. An empty host means every interface; port 0 "
              "means any free port.", HIGH, scope=PER_BROKER),
    ConfigKey("security.inter.broker.protocol", STRING, "PLAINTEXT",
              "Security protocol among brokers; names their listener when `inter.broker.listener.name` "
              "is unset.", validator=OneOf(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL",))),
    ConfigKey("connections.max.idle.ms", LONG, "600000",
              "Connections without traffic for this long are closed."),
    ConfigKey("max.connections", INT, "2147483647", "Connections open at one time.", validator=Range(0),
              scope=CLUSTER),
    ConfigKey("max.connections.per.ip", INT, "2147483647", "Connections open at one time from one address.",
              validator=Range(0), scope=CLUSTER),
    ConfigKey("max.connections.per.ip.overrides", STRING, "",
              "Exceptions to `max.connections.per.ip`, as host:count pairs.", scope=CLUSTER),
    ConfigKey("socket.receive.buffer.bytes", INT, "102400",
              "SO_RCVBUF of client sockets; -1, or not set, leaves it to the system.", HIGH),
    ConfigKey("socket.send.buffer.bytes", INT, "102400",
              "SO_SNDBUF of client sockets; -1 leaves it to the system, not set is 262144 here.", HIGH),
    ConfigKey("socket.listen.backlog.size", INT, "50",
              "Connections the kernel may queue before the broker accepts them; not set is 4096 here.",
              validator=Range(1)),
    ConfigKey("socket.request.max.bytes", INT, "104857600",
              "Largest request accepted; a connection that announces more is closed.", HIGH, Range(1)),
    ConfigKey("fetch.max.bytes", INT, "57671680",
              "Most bytes in the answer to one fetch; a first batch that is larger is still returned.",
              validator=Range(1024)),
    ConfigKey("max.incremental.fetch.session.cache.slots", INT, "1000", "Fetch sessions kept at one time.",
              validator=Range(0)),
    ConfigKey("max.request.partition.size.limit", INT, "2000",
              "Partitions in one answer that lists partitions.", validator=Range(1)),
    ConfigKey("socket.connection.setup.timeout.max.ms", LONG, "30000",
              "Longest wait for a connection to another broker, after attempts that failed."),
    ConfigKey("socket.connection.setup.timeout.ms", LONG, "10000",
              "First wait for a connection to another broker."),
    ConfigKey("request.timeout.ms", INT, "30000",
              "How long a request of the broker may wait for its answer.", HIGH),
    *no_effect(
        "controller requests come in by the listener among brokers",
        ConfigKey("control.plane.listener.name", STRING, None, "Listener for requests from the controller.",
                  HIGH),
    ),
    *no_effect(
        "the broker is ready as a whole, in one step",
        ConfigKey("early.start.listeners", STRING, None,
                  "Listeners that open before the authorizer has finished loading.", HIGH),
    ),
    ConfigKey("connection.failed.authentication.delay.ms", INT, "100",
              "Time in milliseconds until a refused login is answered and its connection closed.", LOW,
              Range(0)),
    ConfigKey("connections.max.reauth.ms", LONG, "0",
              "Longest time between two logins of one SASL connection; 0 never asks again."),
    ConfigKey("max.connection.creation.rate", INT, "2147483647", "Connections accepted per second.",
              validator=Range(0), scope=CLUSTER),
    *no_effect(
        "one event loop does the work; there are no thread pools to size",
        ConfigKey("background.threads", INT, "10", "Threads for housekeeping.", HIGH, Range(1),
                  scope=CLUSTER),
        ConfigKey("num.io.threads", INT, "8", "Threads that handle requests.", HIGH, Range(1), scope=CLUSTER),
        ConfigKey("num.network.threads", INT, "3", "Threads that read and write sockets, per listener.", HIGH,
                  Range(1), scope=CLUSTER),
        ConfigKey("queued.max.request.bytes", LONG, "-1",
                  "Bytes of requests that may wait for a handler thread."),
        ConfigKey("queued.max.requests", INT, "500", "Requests that may wait for a handler thread.", HIGH,
                  Range(1)),
    ),
    *no_effect(
        "completed operations leave their purgatory at once",
        ConfigKey("fetch.purgatory.purge.interval.requests", INT, "1000",
                  "Completed fetches that trigger a purge."),
        ConfigKey("producer.purgatory.purge.interval.requests", INT, "1000",
                  "Completed produces that trigger a purge."),
        ConfigKey("delete.records.purgatory.purge.interval.requests", INT, "1",
                  "Completed record deletions that trigger a purge."),
    ),
    *no_effect(
        "versions under development are not served",
        ConfigKey("unstable.api.versions.enable", BOOLEAN, "false",
                  "Serve API versions still under development.", HIGH, internal=True),
        ConfigKey("unstable.feature.versions.enable", BOOLEAN, "false",
                  "Allow feature versions still under development.", HIGH, internal=True),
    ),
)
# fmt: on
