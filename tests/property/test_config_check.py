"""`kcompat config check` and a start never disagree about a file."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kcompat.cli.config_check import findings_of
from kcompat.cli.start import read_config
from kcompat.config.checking import SettingFinding, Verdict
from kcompat.config.known import NEWER_KEYS
from kcompat.config.table import BROKER_KEYS
from kcompat.errors import KcompatError
from kcompat.node.broker import BrokerNode
from kcompat.node.environment import real_environment
from kcompat.node.tls import TlsListeners
from support.fuzzing import examples

if TYPE_CHECKING:
    from pathlib import Path

    from kcompat.config.broker import BrokerConfig

LISTENERS = [
    "PLAINTEXT://localhost:0",
    "PLAINTEXT://:0,SSL://:0",
    "SASL_PLAINTEXT://:0",
    "A://:0",
    "PLAINTEXT://:0,CONTROLLER://:1",
    ",",
]
OTHER_NAMES = [
    *sorted(NEWER_KEYS),
    "num.partitons",
    "foo.bar",
    "super.users",
    "allow.everyone.if.no.acl.found",
    "confluent.x",
    "config.providers",
    "config.providers.env.class",
    "sasl.oauthbearer.scope",
    "listener.name.plaintext.ssl.keystore.type",
    "listener.name.sasl_plaintext.sasl.enabled.mechanisms",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config",
]
TEXTS = st.sampled_from(
    [
        *("", "0", "1", "-1", "-2", "7", "2147483647", "9223372036854775807", "0.5", "true", "false", "x"),
        *("PLAIN", "GSSAPI", "User:admin", "bob", "PEM", "JKS", "broker", "broker,controller", "${env:X}"),
        *("compact,delete", "PLAINTEXT", "CONTROLLER", "1@a:1,2@b:1", "a:PLAIN", "localhost:2181", "env"),
        "kafka.security.authorizer.AclAuthorizer",
        "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";',
    ]
)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """Return the line of one setting; half of them are as Kafka has them by default."""
    name = draw(st.sampled_from(sorted(BROKER_KEYS)) | st.sampled_from(OTHER_NAMES))
    if name == "listeners":
        return f"listeners={draw(st.sampled_from(LISTENERS))}"
    key = BROKER_KEYS.get(name)
    default = (key.default if key is not None else None) or ""
    return f"{name}={draw(st.just(default) | TEXTS)}"


def refusal_of_start(path: Path) -> tuple[str | None, BrokerConfig | None]:
    """Return the reason for which a start refuses a file before it opens anything, or the configuration."""

    async def build() -> BrokerConfig:
        config = read_config(Namespace(properties=path, override=(), host=None, port=None), {})
        BrokerNode(config, real_environment())
        TlsListeners(config)
        return config

    try:
        return None, asyncio.run(build())
    except KcompatError as error:
        return str(error), None


def keys_with(found: list[SettingFinding], verdict: Verdict) -> set[str]:
    return {each.setting.key for each in found if each.verdict is verdict and each.setting is not None}


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lines(), max_size=5))
@example(["broker.id=1", "node.id=2"])
@example(["listeners=SASL_PLAINTEXT://:0", "sasl.enabled.mechanisms=GSSAPI"])
@example(["listeners=SSL://:0"])
@example(["process.roles=broker"])
@example(["config.providers=a", "config.providers.a.class=b"])
@example(["zookeeper.connect=localhost:2181", "security.inter.broker.protocol=SSL", "listeners=SSL://:0"])
@example(["authorizer.class.name=kafka.security.authorizer.AclAuthorizer", "super.users=bob"])
@example(["cordoned.log.dirs=${env:X}"])
@example(["sasl.oauthbearer.scope="])
@example(["num.partitions=x", "num.partitions=1"])
def test_a_file_that_is_refused_is_found_and_no_other(tmp_path: Path, given_lines: list[str]) -> None:
    path = tmp_path / "server.properties"
    path.write_text("\n".join([*given_lines, f"log.dirs={tmp_path}/data"]))
    refusal, config = refusal_of_start(path)
    found = findings_of(path, {})
    assert [bool(refusal)] == [any(each.verdict.prevents_start for each in found)], (refusal, found)
    if config is None:
        assert refusal in {each.message for each in found if each.verdict.prevents_start}
        return
    assert keys_with(found, Verdict.UNKNOWN) == set(config.unknown_keys)
    told = {key.name for key in config.ineffective_keys} | NEWER_KEYS.intersection(config.static)
    assert told <= keys_with(found, Verdict.NO_EFFECT)
