from __future__ import annotations

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.config.checking import SettingFinding, Verdict, findings
from kcompat.config.errors import ConfigError
from kcompat.config.properties import parse_settings, settings_of_variables


def found(text: str, environment: dict[str, str] | None = None) -> list[SettingFinding]:
    """Return the findings about a file and the variables beside it, checked as a `BrokerConfig`."""
    variables = environment or {}
    settings = [*parse_settings(text), *settings_of_variables(variables)]
    values = {each.key: each.text for each in settings}
    return findings(settings, variables, lambda: BrokerConfig({"log.dirs": "/data", **values}))


def only(text: str) -> tuple[Verdict, str]:
    """Return the verdict and the sentence of the only setting in a file."""
    (finding,) = found(text)
    return finding.verdict, finding.message


@pytest.mark.parametrize(
    "text",
    [
        "num.partitions=3",
        "super.users=User:admin",
        "config.providers=env",
        "listener.name.plaintext.ssl.keystore.location=/k",
        "ssl.engine.factory.class=",
    ],
)
def test_settings_that_are_obeyed(text: str) -> None:
    assert only(text) == (Verdict.ENFORCED, "")


@pytest.mark.parametrize(
    ("text", "verdict", "sentence"),
    [
        ("background.threads=7", Verdict.NO_EFFECT, "background.threads: one event loop does the work"),
        ("confluent.x=1", Verdict.NO_EFFECT, "confluent.x: only plug-ins of Kafka read it"),
        ("cordoned.log.dirs=/d", Verdict.NO_EFFECT, "cordoned.log.dirs: it is a key of a newer Kafka"),
        ("cordoned.log.dirs=${env:X}", Verdict.NO_EFFECT, "it is a key of a newer Kafka"),
        ("num.partitons=3", Verdict.UNKNOWN, "brokers: did you mean num.partitions?"),
        ("foo.bar=3", Verdict.UNKNOWN, "foo.bar is not a key of Kafka's brokers: it is ignored"),
        ("broker.rack=${env:RACK}", Verdict.UNRESOLVED, "broker.rack: no provider of config.providers has"),
        ("num.partitions=many", Verdict.INVALID, "Invalid value many for configuration num.partitions"),
        ("num.partitions=0", Verdict.INVALID, "Value must be at least 1"),
        ("ssl.engine.factory.class=A", Verdict.REFUSED, "=A is not supported: there is no Java"),
        ("sasl.oauthbearer.scope=a", Verdict.REFUSED, "sasl.oauthbearer.scope is not supported: it is of"),
    ],
)
def test_settings_that_are_not_obeyed(text: str, verdict: Verdict, sentence: str) -> None:
    assert only(text)[0] is verdict
    assert sentence in only(text)[1]


def test_the_last_of_equal_keys_counts() -> None:
    first, second, third = found("num.partitions=many\n\n# and\nnum.partitions:\\\n 2\nbroker.id 1\n")
    assert (first.verdict, first.message) == (Verdict.OVERRIDDEN, "num.partitions: line 4 sets it again")
    assert [each.setting and each.setting.line for each in (first, second, third)] == [1, 4, 6]
    assert second.verdict is Verdict.ENFORCED


def test_variables_count_before_the_file() -> None:
    first, second = found("num.partitions=2", {"KAFKA_NUM_PARTITIONS": "many", "HOME": "/"})
    assert (first.verdict, first.message) == (
        Verdict.OVERRIDDEN,
        "num.partitions: the variable KAFKA_NUM_PARTITIONS sets it again",
    )
    assert second.verdict is Verdict.INVALID
    assert second.setting is not None
    assert (second.setting.variable, second.setting.line) == ("KAFKA_NUM_PARTITIONS", None)


def test_settings_that_cannot_be_together_are_told_at_the_first_one_named() -> None:
    first, second = found("num.partitions=2\ngroup.min.session.timeout.ms=9000000\n")
    assert first.verdict is Verdict.ENFORCED
    assert second.verdict is Verdict.INVALID
    assert second.message.startswith("group.min.session.timeout.ms=9000000 must not exceed")
    assert second.setting is not None
    assert second.setting.line == 2


def test_an_error_that_names_no_setting_is_a_finding_of_its_own() -> None:
    settings = list(parse_settings("num.partitions=2"))

    def insist() -> BrokerConfig:
        raise ConfigError("the stars are wrong")

    enforced, other = findings(settings, {}, insist)
    assert enforced.verdict is Verdict.ENFORCED
    assert other == SettingFinding(Verdict.INVALID, "the stars are wrong", None)


def test_settings_of_a_listener_that_is_not_there_are_told() -> None:
    text = (
        "listeners=FRONT://:9092\nlistener.security.protocol.map=FRONT:PLAINTEXT\n"
        "listener.name.front.max.connections=5\nlistener.name.FRONT.max.connections=5\n"
    )
    *others, in_capitals = found(text)
    assert {each.verdict for each in others} == {Verdict.ENFORCED}
    assert in_capitals.verdict is Verdict.NO_EFFECT
    assert in_capitals.message == (
        "listener.name.FRONT.max.connections: `listeners` has no listener FRONT "
        "(such keys have its name in lower case)"
    )


def test_settings_of_providers_that_cannot_be_are_told_beside_the_others() -> None:
    text = "config.providers=x\nconfig.providers.x.class=A\nbroker.rack=${x:y}\nnum.partitions=many\n"
    whole, *others = found(text)
    assert whole.verdict is Verdict.INVALID
    assert whole.message.startswith("config.providers.x.class=A is not supported")
    assert [each.verdict for each in others] == [Verdict.UNCHECKED, Verdict.UNCHECKED, Verdict.INVALID]


def test_secrets_are_left_out() -> None:
    text = (
        "sasl.oauthbearer.client.credentials.client.secret=hush\nssl.key.password=hush\nssl.key.passwort=hush"
    )
    assert not any("hush" in each.message for each in found(text))
