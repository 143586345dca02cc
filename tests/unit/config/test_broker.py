from __future__ import annotations

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.config.errors import ConfigError
from kcompat.config.keys import ConfigKey, Effect
from kcompat.config.listeners import Endpoint
from kcompat.config.table import BROKER_KEYS
from kcompat.config.types import ConfigType


def test_defaults_static_and_dynamic_values_count_in_kafkas_order() -> None:
    config = BrokerConfig(
        {"message.max.bytes": "3", "num.partitions": "4"},
        dynamic={"message.max.bytes": "1"},
        dynamic_default={"message.max.bytes": "2", "log.cleaner.threads": "5"},
    )
    assert (config.integer("message.max.bytes"), config.num_partitions) == (1, 4)
    assert config.integer("log.cleaner.threads") == 5
    assert config.integer("num.io.threads") == 8
    later = config.with_dynamic({}, {"message.max.bytes": "2"})
    assert later.integer("message.max.bytes") == 2
    assert config.integer("message.max.bytes") == 1


def test_a_dynamic_value_hides_its_static_synonyms() -> None:
    config = BrokerConfig({"log.retention.hours": "100"}, dynamic={"log.retention.ms": "600000"})
    assert config.integer("log.retention.ms") == 600000
    assert config.integer("log.retention.hours") == 168


def test_node_id_and_broker_id_are_one_number() -> None:
    assert BrokerConfig({"node.id": "7"}).broker_id == 7
    assert BrokerConfig({"broker.id": "7"}).integer("node.id") == 7
    assert BrokerConfig().broker_id == -1
    with pytest.raises(ConfigError, match=r"broker.id=1 and node.id=2 must be the same number"):
        BrokerConfig({"broker.id": "1", "node.id": "2"})
    assert BrokerConfig({"node.id": "7"}).with_static({"broker.id": "8"}).integer("node.id") == 8


def test_ids_are_compared_as_numbers() -> None:
    assert BrokerConfig({"node.id": " 03", "broker.id": "٣"}).broker_id == 3


def test_a_directory_may_have_spaces_that_java_does_not_trim_in_its_name() -> None:
    assert BrokerConfig({"log.dirs": " /a\u00a0 ,/b"}).log_dirs == ["/a\u00a0", "/b"]


def test_directories() -> None:
    assert BrokerConfig().log_dirs == ["/tmp/kafka-logs"]
    assert BrokerConfig({"log.dir": "/a"}).log_dirs == ["/a"]
    assert BrokerConfig({"log.dir": "/a", "log.dirs": "/b, /c"}).log_dirs == ["/b", "/c"]


def test_listeners() -> None:
    config = BrokerConfig(
        {
            "listeners": "IN://:9092,out://[::1]:0, CONTROLLER://:9093",
            "listener.security.protocol.map": "IN:PLAINTEXT,OUT:SSL,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "advertised.listeners": "OUT://broker.example:19092",
        }
    )
    assert config.listeners == (Endpoint("IN", "", 9092, "PLAINTEXT"), Endpoint("OUT", "::1", 0, "SSL"))
    assert dict(config.advertised) == {"OUT": Endpoint("OUT", "broker.example", 19092, "SSL")}
    assert [str(endpoint) for endpoint in config.listeners] == ["IN://:9092", "OUT://[::1]:0"]
    assert config.inter_broker_listener == "PLAINTEXT"


def test_properties_written_for_kraft_are_accepted() -> None:
    config = BrokerConfig(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": "1@localhost:9093",
            "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
            "inter.broker.listener.name": "PLAINTEXT",
            "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "controller.listener.names": "CONTROLLER",
        }
    )
    assert [str(endpoint) for endpoint in config.listeners] == ["PLAINTEXT://:9092"]
    assert [str(endpoint) for endpoint in config.advertised.values()] == ["PLAINTEXT://localhost:9092"]
    assert [key.name for key in config.ineffective_keys] == ["controller.quorum.voters", "process.roles"]


@pytest.mark.parametrize(
    ("static", "message"),
    [
        ({"num.partitions": "x"},
         "Invalid value x for configuration num.partitions: "
         "Not a number of type INT"),
        ({"num.partitions": "0"},
         "Invalid value 0 for configuration num.partitions: "
         "Value must be at least 1"),
        ({"compression.type": "brotli"},
         "Invalid value brotli for configuration compression.type: "
         "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
        ({"log.cleanup.policy": "delete,keep"},
         "Invalid value keep for configuration log.cleanup.policy: String must be one of: compact, delete"),
        ({"log.message.format.version": "7.0"},
         "Invalid value 7.0 for configuration log.message.format.version: "
         "Version 7.0 is not a valid version"),
        ({"listeners": "x"},
         "Error creating broker listeners from 'x': "
         "Unable to parse x to a broker endpoint, which is of the form NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://:70000"},
         "Error creating broker listeners from 'PLAINTEXT://:70000': "
         "Unable to parse PLAINTEXT://:70000 to a broker endpoint, which is of the form NAME://HOST:PORT"),
        ({"listeners": "FOO://:1"},
         "Error creating broker listeners from 'FOO://:1': "
         "No security protocol defined for listener FOO: add it to listener.security.protocol.map"),
        ({"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"},
         "Each listener must have a different name, listeners: PLAINTEXT://:1,PLAINTEXT://:2"),
        ({"listeners": "PLAINTEXT://:1,SSL://:1"},
         "Each listener must have a different port, listeners: PLAINTEXT://:1,SSL://:1"),
        ({"advertised.listeners": "SSL://a:1"},
         "advertised.listeners names SSL, which is not among the listeners (PLAINTEXT)"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:1"},
         "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address."),
        ({"listener.security.protocol.map": "PLAINTEXT"},
         "listener.security.protocol.map has 'PLAINTEXT', which is not of the form NAME:PROTOCOL"),
        ({"listener.security.protocol.map": "PLAINTEXT:TLS"},
         "listener.security.protocol.map gives PLAINTEXT the protocol 'TLS'; "
         "it must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,plaintext:SSL"},
         "listener.security.protocol.map names plaintext twice"),
        ({"listeners": "CONTROLLER://:1", "controller.listener.names": "CONTROLLER"},
         "listeners=CONTROLLER://:1 has no listener for clients"),
        ({"inter.broker.listener.name": "IN"},
         "inter.broker.listener.name=IN is not among the listeners (PLAINTEXT)"),
        ({"broker.id": "-2"}, "broker.id must be greater than or equal to -1"),
        ({"node.id": "-2"}, "broker.id must be greater than or equal to -1"),
        ({"log.dirs": "/a, /b,/a"}, "log.dirs names /a more than once"),
        ({"log.retention.ms": "0"},
         "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
        ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms must be greater than or equal to 0"),
        ({"log.cleaner.threads": "0"}, "log.cleaner.threads must be greater than or equal to 1"),
        ({"log.cleaner.dedupe.buffer.size": "1"},
         "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."),
        ({"max.connections.per.ip": "0"},
         "max.connections.per.ip can be set to zero only if "
         "max.connections.per.ip.overrides property is set."),
        ({"listeners": "\u00a0PLAINTEXT://:1"},
         "Error creating broker listeners from '\u00a0PLAINTEXT://:1': "
         "No security protocol defined for listener \u00a0PLAINTEXT: "
         "add it to listener.security.protocol.map"),
        ({"listener.security.protocol.map": ":SSL"},
         "listener.security.protocol.map has ':SSL', which is not of the form NAME:PROTOCOL"),
        ({"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,,A:SSL"},
         "listener.security.protocol.map has '', which is not of the form NAME:PROTOCOL"),
        ({"max.connections.per.ip.overrides": "h:5\u00a0"},
         "max.connections.per.ip.overrides has 'h:5\\xa0', which is not of the form HOST:COUNT"),
        ({"max.connections.per.ip.overrides": "h\u00a0:5"},
         "max.connections.per.ip.overrides has 'h\\xa0:5', which is not of the form HOST:COUNT"),
        ({"max.connections.per.ip.overrides": "127.0.0.1"},
         "max.connections.per.ip.overrides has '127.0.0.1', which is not of the form HOST:COUNT"),
        ({"group.min.session.timeout.ms": "2000000"},
         "group.min.session.timeout.ms=2000000 must not exceed group.max.session.timeout.ms=1800000"),
        ({"group.consumer.max.session.timeout.ms": "44999"},
         "group.consumer.max.session.timeout.ms must be greater than or equal to "
         "group.consumer.min.session.timeout.ms"),
        ({"group.consumer.session.timeout.ms": "6000"},
         "group.consumer.session.timeout.ms must be greater than or equal to "
         "group.consumer.min.session.timeout.ms"),
        ({"group.share.heartbeat.interval.ms": "15001"},
         "group.share.heartbeat.interval.ms must be less than or equal to "
         "group.share.max.heartbeat.interval.ms"),
        ({"group.streams.heartbeat.interval.ms": "15001"},
         "group.streams.heartbeat.interval.ms must be less than or equal to "
         "group.streams.max.heartbeat.interval.ms"),
        ({"group.streams.assignment.interval.ms": "15001"},
         "group.streams.assignment.interval.ms must be less than or equal to "
         "group.streams.max.assignment.interval.ms"),
        ({"group.streams.num.standby.replicas": "3"},
         "group.streams.num.standby.replicas must be less than or equal to "
         "group.streams.max.standby.replicas"),
        ({"group.streams.min.session.timeout.ms": "1", "group.streams.session.timeout.ms": "5000"},
         "group.streams.heartbeat.interval.ms must be less than group.streams.session.timeout.ms"),
        ({"group.share.assignors": ""},
         "group.share.assignors must contain exactly one assignor, but found 0"),
        ({"group.share.assignors": "simple,simple"},
         "group.share.assignors must contain exactly one assignor, but found 2"),
        ({"group.share.assignors": "example.OfMyOwn"},
         "Invalid value example.OfMyOwn for configuration group.share.assignors: String must be one of: "
         "simple, org.apache.kafka.coordinator.group.assignor.SimpleAssignor"),
        ({"group.consumer.regex.refresh.interval.ms": "9999"},
         "Invalid value 9999 for configuration group.consumer.regex.refresh.interval.ms: "
         "Value must be at least 10000"),
        ({"offsets.commit.required.acks": "4"},
         "offsets.commit.required.acks must be greater or equal -1 and less or equal to "
         "offsets.topic.replication.factor"),
        ({"authorizer.class.name": "example.OfMyOwn"},
         "Invalid value example.OfMyOwn for configuration authorizer.class.name: String must be one of: "
         "org.apache.kafka.metadata.authorizer.StandardAuthorizer, "
         "kafka.security.authorizer.AclAuthorizer, nothing"),
        ({"remote.log.storage.system.enable": "true"},
         "remote.log.storage.system.enable=true is not supported: tiered storage is not supported"),
    ],
)  # fmt: skip
def test_a_configuration_that_cannot_be_says_so_in_a_sentence(static: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BrokerConfig(static)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ssl.engine.factory.class", "a.B"), ("ssl.provider", "BC"), ("ssl.keymanager.algorithm", "PKIX"),
        ("listener.name.internal.ssl.engine.factory.class", "a.B"), ("sasl.login.class", "a.B"),
        ("sasl.kerberos.service.name", "x"),
        ("sasl.mechanism.controller.protocol", "PLAIN"),
        ("sasl.oauthbearer.scope", "x"), ("sasl.oauthbearer.jwt.validator.class", "a.B"),
        ("principal.builder.class", "a.B"),
        ("security.providers", "a.B"),
        ("sasl.client.callback.handler.class", "a.B"),
        ("create.topic.policy.class.name", "a.B"), ("alter.config.policy.class.name", "a.B"),
        ("client.quota.callback.class", "a.B"), ("zookeeper.ssl.ocsp.enable", "true"),
    ],
)  # fmt: skip
def test_a_setting_that_nothing_enforces_is_refused(name: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BrokerConfig({name: text})
    assert str(caught.value).startswith((f"{name}={text} is not supported: ", f"{name} is not supported: "))


@pytest.mark.parametrize(
    "name",
    [
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.client.credentials.client.secret",
    ],
)
def test_a_secret_that_is_refused_is_not_repeated(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BrokerConfig({name: "opensesame"})
    assert "opensesame" not in str(caught.value)


@pytest.mark.parametrize("key", BROKER_KEYS.values(), ids=lambda key: key.name)
def test_no_setting_is_refused_for_having_its_default(key: ConfigKey) -> None:
    if key.effect is Effect.REFUSED and key.default is not None:
        for name in (key.name, f"listener.name.internal.{key.name}"):
            BrokerConfig({name: f" {key.default} "})


@pytest.mark.parametrize("key", BROKER_KEYS.values(), ids=lambda key: key.name)
def test_no_setting_is_refused_for_being_empty(key: ConfigKey) -> None:
    is_text = key.type in (ConfigType.STRING, ConfigType.CLASS, ConfigType.PASSWORD, ConfigType.LIST)
    if key.effect is Effect.REFUSED and is_text and key.validator is None:
        BrokerConfig({key.name: " "})


def test_settings_that_containers_carry_do_not_matter() -> None:
    BrokerConfig(
        {
            "authorizer.class.name": "",
            "confluent.license.topic.replication.factor": "1",
            "connection.failed.authentication.delay.ms": "50",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,A:SSL,CONTROLLER:SASL_PLAINTEXT",
            "metric.reporters": "io.confluent.metrics.reporter.ConfluentMetricsReporter",
            "password.encoder.secret": "s",
            "sasl.enabled.mechanisms": "GSSAPI",
            "sasl.oauthbearer.assertion.algorithm": "RS256",
            "ssl.endpoint.identification.algorithm": "HTTPS",
            "super.users": "User:a",
            "allow.everyone.if.no.acl.found": "true",
        }
    )


def test_what_a_kafka_stored_that_nothing_enforces_is_told() -> None:
    config = BrokerConfig().with_stored(
        {"listener.name.a.ssl.engine.factory.class": "a.B"}, {"log.retention.ms": "5"}
    )
    assert config.integer("log.retention.ms") == 5
    assert config.unenforced == [
        "listener.name.a.ssl.engine.factory.class=a.B is not supported: "
        "there is no Java virtual machine to load classes into"
    ]


def test_refused_keys_may_have_their_default_or_be_empty() -> None:
    BrokerConfig({"authorizer.class.name": "", "remote.log.storage.system.enable": "false"})
    BrokerConfig({"zookeeper.connect": ""})


def test_no_connections_per_address_is_allowed_with_exceptions() -> None:
    config = BrokerConfig(
        {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "10.0.0.1:5 , ::1: ٦,"}
    )
    assert config.ip_overrides == {"10.0.0.1": 5, "::1": 6}


def test_what_deserves_a_word_in_the_log() -> None:
    config = BrokerConfig(
        {"foo.bar": "1", "num.io.threads": "4", "num.network.threads": "3", "num.partitions": "2"}
    )
    assert config.unknown_keys == ["foo.bar"]
    assert [key.name for key in config.ineffective_keys] == ["num.io.threads"]


def test_keys_of_a_listener_that_is_not_there_deserve_a_word() -> None:
    config = BrokerConfig(
        {
            "listeners": "FRONT://:9092,CONTROLLER://:9093",
            "listener.security.protocol.map": "FRONT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "listener.name.front.max.connections": "5",
            "listener.name.controller.max.connections": "5",
            "listener.name.back.max.connections": "5",
        }
    )
    assert config.keys_of_absent_listeners == ["listener.name.back.max.connections"]


def test_asking_for_a_key_that_is_none_is_a_bug() -> None:
    with pytest.raises(KeyError):
        BrokerConfig().get("no.such.key")
