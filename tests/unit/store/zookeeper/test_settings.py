"""How Kafka's keys say where ZooKeeper is."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import pytest

from kcompat.config.table import BROKER_KEYS
from kcompat.store.interface import StoreUnavailableError
from kcompat.store.zookeeper.settings import (
    Credential,
    ZooKeeperSettings,
    ZooKeeperTls,
    credentials,
    parse_connect,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def values(**given: str) -> Callable[[str], Any]:
    """The values of keys, their dots written as underscores where they are given."""
    texts = {key.replace("_", "."): text for key, text in given.items()}

    def get(name: str) -> Any:
        row = BROKER_KEYS[name]
        text = texts.get(name, row.default)
        return None if text is None else row.parse(text)

    return get


def test_defaults() -> None:
    assert ZooKeeperSettings.read(values(zookeeper_connect="zk:2181")) == ZooKeeperSettings("zk:2181")


def test_everything_given() -> None:
    get = values(
        zookeeper_connect="a:1,b:2/kafka/one/",
        zookeeper_session_timeout_ms="6000",
        zookeeper_max_in_flight_requests="3",
        zookeeper_set_acl="true",
    )
    me = Credential("digest", "kafka:secret")
    settings = ZooKeeperSettings.read(get, [me])
    assert settings == ZooKeeperSettings("a:1,b:2", "/kafka/one", 6000, 6000, 3, True, [me])
    get = values(zookeeper_connect="a", zookeeper_connection_timeout_ms="7")
    assert ZooKeeperSettings.read(get).connection_timeout_ms == 7


def test_credentials_come_from_the_environment() -> None:
    assert credentials({}) == credentials({"KCOMPAT_ZOOKEEPER_AUTH": ""}) == []
    given = {"KCOMPAT_ZOOKEEPER_AUTH": "digest:kafka:se:cret"}
    assert credentials(given) == [Credential("digest", "kafka:se:cret")]
    for bad in ("digest:kafka", "kafka:secret", "sasl:kafka:secret"):
        with pytest.raises(StoreUnavailableError, match="digest:USER:PASSWORD"):
            credentials({"KCOMPAT_ZOOKEEPER_AUTH": bad})


@pytest.mark.parametrize(
    ("connect", "expected"),
    [
        ("zk", ("zk", "")),
        ("zk/", ("zk", "")),
        ("a:1, b:2", ("a:1,b:2", "")),
        ("[::1]:2181/k", ("[::1]:2181", "/k")),
        ("[::1]/k/l", ("[::1]", "/k/l")),
    ],
)
def test_connect_strings(connect: str, expected: tuple[str, str]) -> None:
    assert parse_connect(connect) == expected


@pytest.mark.parametrize("connect", ["", "/kafka", "a:1,,b:2", "a:1//k", "a:port", "a:"])
def test_connect_strings_that_are_none(connect: str) -> None:
    with pytest.raises(StoreUnavailableError, match=r"zookeeper\.connect"):
        parse_connect(connect)


def test_access_lists_need_somebody_they_can_name() -> None:
    get = values(zookeeper_connect="a", zookeeper_set_acl="true")
    with pytest.raises(StoreUnavailableError, match="the owner of the nodes"):
        ZooKeeperSettings.read(get)


def test_tls() -> None:
    get = values(
        zookeeper_connect="a",
        zookeeper_set_acl="true",
        zookeeper_ssl_client_enable="true",
        zookeeper_ssl_truststore_location="/t.pem",
        zookeeper_ssl_keystore_location="/k.key",
        zookeeper_ssl_keystore_type="PEM",
        zookeeper_ssl_keystore_password="secret",
        zookeeper_ssl_enabled_protocols="TLSv1.3,TLSv1.2",
        zookeeper_ssl_endpoint_identification_algorithm="",
        zookeeper_ssl_crl_enable="true",
    )
    tls = ZooKeeperSettings.read(get).tls
    assert tls is not None
    assert (tls.truststore, tls.keystore) == ("/t.pem", "/k.key")
    assert list(tls.versions) == ["TLSv1.3", "TLSv1.2"]
    assert not tls.checks_host_name
    assert tls.checks_revocation


def test_key_stores_of_java_are_refused_with_what_to_do() -> None:
    get = values(
        zookeeper_connect="a",
        zookeeper_ssl_client_enable="true",
        zookeeper_ssl_truststore_location="/t.jks",
    )
    with pytest.raises(StoreUnavailableError, match="only PEM files are read"):
        ZooKeeperSettings.read(get)


def test_a_context_of_tls() -> None:
    context = ZooKeeperTls(versions=("TLSv1.3", "TLSv1.2"), checks_revocation=True).context()
    assert (context.minimum_version, context.maximum_version) == (
        ssl.TLSVersion.TLSv1_2,
        ssl.TLSVersion.TLSv1_3,
    )
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.verify_flags & ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    assert not ZooKeeperTls(checks_host_name=False).context().check_hostname


def test_what_tls_cannot_use_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="there is no TLS version 'TLSv9'"):
        ZooKeeperTls(versions=("TLSv9",)).context()
    with pytest.raises(StoreUnavailableError, match=r"absent\.pem cannot be used"):
        ZooKeeperTls(truststore=str(tmp_path / "absent.pem")).context()
    with pytest.raises(StoreUnavailableError, match="the settings cannot be used"):
        ZooKeeperTls(cipher_suites=("nonsense",)).context()
