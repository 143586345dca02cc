"""The settings of TLS of a listener, read from a configuration."""

from __future__ import annotations

from functools import partial

import pytest

from kcompat.config.broker import BrokerConfig
from kcompat.errors import ConfigError
from kcompat.security.tls_settings import TlsSettings, read_settings


def settings(texts: dict[str, str], listener: str = "SSL") -> TlsSettings:
    return read_settings(partial(BrokerConfig(texts).get_at, listener))


def test_the_defaults_are_kafkas() -> None:
    default = settings({})
    assert (default.protocols, default.cipher_suites) == (("TLSv1.2", "TLSv1.3"), ())
    assert (default.client_auth, default.mapping_rules) == ("none", "DEFAULT")
    assert (default.key.type, default.key.is_set, default.trust.is_set) == ("JKS", False, False)


def test_a_listener_may_have_its_own() -> None:
    texts = {
        "ssl.keystore.location": "/all",
        "listener.name.ssl.ssl.keystore.location": "/own",
        "listener.name.ssl.ssl.enabled.protocols": "TLSv1.3",
        "listener.name.ssl.ssl.allow.dn.changes": "true",
    }
    assert settings(texts).key.location == "/own"
    assert settings(texts, "OTHER").key.location == "/all"
    assert settings(texts).protocols == ("TLSv1.3",)
    assert settings(texts).allow_dn_changes
    assert not settings(texts, "OTHER").allow_dn_changes


def test_the_order_of_versions_does_not_matter() -> None:
    assert settings({"ssl.enabled.protocols": "TLSv1.3,TLSv1.2"}) == settings({})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TLSv1.1", "ssl.enabled.protocols names TLSv1.1, and only TLSv1.2 and TLSv1.3 are supported"),
        ("TLSv1.2,SSLv3", "ssl.enabled.protocols names SSLv3, and only TLSv1.2 and TLSv1.3 are supported"),
        ("", "ssl.enabled.protocols must name at least one version of TLS"),
    ],
)
def test_versions_that_openssl_does_not_have_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings({"ssl.enabled.protocols": text})
    assert str(caught.value) == message


def test_secrets_are_not_shown() -> None:
    secrets = (
        "keystore.password",
        "key.password",
        "keystore.key",
        "truststore.password",
        "truststore.certificates",
    )
    texts = {f"ssl.{name}": "opensesame" for name in secrets}
    assert "opensesame" not in repr(settings(texts))
