"""OpenSSL's contexts of listeners."""

from __future__ import annotations

import ssl
from typing import Any

import pytest
from msgspec.structs import replace

from kcompat.errors import ConfigError
from kcompat.security.key_stores import Store, read_key_store
from kcompat.security.tls_context import make_context
from support.tls_authority import PASSWORD, Authority, as_pem

AUTHORITY = Authority()
BOTH = ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
NEW = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")


PBES1 = b"""\
-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGxMBwGCiqGSIb3DQEMAQMwDgQIKr5CH55eMcoCAggABIGQSo5ui3rgBejkUd59
a8ajcLMKp7uIU0uwjdbW5dtsG594vbXI8UAqSZ/m4Ew0F1isMYEdEQeS4yStIsYi
2vWw78pozemTPkKEkm9ZWsZvfYgfHMgI+DjmJhqXGGi3KWkJNOEaO0brcPCJpQ95
lS5Bms3sCzzvarmLoXeqpIKgs19AKjiEwEdAjeEWheD8QrEh
-----END ENCRYPTED PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBeDCCAR2gAwIBAgIUNVJWDm7SPnXKVwVg9X/GIlE38X8wCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFcGJlczEwIBcNMjYxMTI3MTU0MjQ1WhgPMjEyNjExMDMxNTQy
NDVaMBAxDjAMBgNVBAMMBXBiZXMxMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
xMQrmHr3LHdntCGcEBrTPdj12G9pzzUNzy/8xZ6SxktjWfvgY6koWbsACzGIHO2o
cUhDC5SJNjMxaBg166yK86NTMFEwHQYDVR0OBBYEFLM+KUMwiz7r+F6iGUQNrYpm
EjbFMB8GA1UdIwQYMBaAFLM+KUMwiz7r+F6iGUQNrYpmEjbFMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAOZayF2wmQCkBAHD9i7leNPvQHWxfDkj
WVP++D7aKVCJAiEAhFTe7dNszfxzkFlfZPJRu6oZobUPp6fiagzVeErO2ow=
-----END CERTIFICATE-----
"""
"""A key and its certificate, by `openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES`."""


def context(**changes: Any) -> ssl.SSLContext:
    settings = AUTHORITY.mutual(changes.pop("client_auth", "none"), **changes)
    return make_context(settings, read_key_store(settings.key))


def test_only_the_enabled_versions_are_spoken() -> None:
    made = context(protocols=("TLSv1.3",))
    assert (made.minimum_version, made.maximum_version) == (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3)
    made = context(protocols=("TLSv1.2", "TLSv1.3"))
    assert (made.minimum_version, made.maximum_version) == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


@pytest.mark.parametrize(
    ("client_auth", "mode"),
    [("none", ssl.CERT_NONE), ("requested", ssl.CERT_OPTIONAL), ("required", ssl.CERT_REQUIRED)],
)
def test_clients_are_asked_for_certificates(client_auth: str, mode: ssl.VerifyMode) -> None:
    assert context(client_auth=client_auth).verify_mode == mode


@pytest.mark.parametrize(
    ("suites", "versions"),
    [
        ((*BOTH, *NEW), (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)),
        (BOTH, (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)),
        (NEW, (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3)),
    ],
)
def test_named_suites_leave_the_versions_that_have_some(
    suites: tuple[str, ...], versions: tuple[ssl.TLSVersion, ssl.TLSVersion]
) -> None:
    made = context(cipher_suites=suites)
    assert (made.minimum_version, made.maximum_version) == versions
    if BOTH[0] in suites:
        old = {suite["name"] for suite in made.get_ciphers() if suite["protocol"] != "TLSv1.3"}
        assert old == {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"}


@pytest.mark.parametrize(
    ("suites", "protocols", "message"),
    [
        (("FOO",), ("TLSv1.2",), "ssl.cipher.suites names FOO, which OpenSSL does not have"),
        (("TLS_DHE_RSA_WITH_AES_128_GCM_SHA384",), ("TLSv1.2",), "which OpenSSL does not have"),
        (
            NEW[:1],
            ("TLSv1.3",),
            "leave out some of them: TLS_AES_128_GCM_SHA256, TLS_CHACHA20_POLY1305_SHA256",
        ),
        (NEW, ("TLSv1.2",), "names no suite of any version in ssl.enabled.protocols"),
        (BOTH, ("TLSv1.3",), "names no suite of any version in ssl.enabled.protocols"),
    ],
)
def test_suites_that_cannot_be_chosen_are_refused(
    suites: tuple[str, ...], protocols: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        context(cipher_suites=suites, protocols=protocols)
    assert message in str(caught.value)


def key_store(text: bytes, password: str | None) -> Store:
    return Store("key", "PEM", None, None, password, text.decode())


def test_an_encrypted_key_is_decrypted() -> None:
    assert context(key=key_store(as_pem(AUTHORITY.broker, PASSWORD), PASSWORD))


def test_a_key_encrypted_by_the_older_scheme_is_decrypted() -> None:
    """With PBES1, the only scheme that Kafka on Java 17 reads."""
    assert context(key=key_store(PBES1, PASSWORD))


@pytest.mark.parametrize(
    ("password", "message"),
    [
        (None, "its key is encrypted, set ssl.key.password"),
        ("wrong", "cannot be decrypted"),
        ("x" * 5000, "cannot be decrypted"),
    ],
)
def test_a_key_without_its_password_is_refused(password: str | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        context(key=key_store(as_pem(AUTHORITY.broker, PASSWORD), password))
    assert PASSWORD not in str(caught.value)


def test_a_key_of_another_certificate_is_refused() -> None:
    store = AUTHORITY.key_store()
    other = Authority().key_store()
    with pytest.raises(ConfigError, match="the certificate is not of its key"):
        context(key=replace(store, inline_key=other.inline_key))


def test_a_damaged_certificate_of_a_trust_store_is_refused() -> None:
    damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    settings = AUTHORITY.mutual()
    settings = replace(settings, trust=replace(settings.trust, inline_certificates=damaged))
    with pytest.raises(ConfigError, match="trust store cannot be used: a certificate in it is damaged"):
        make_context(settings, read_key_store(settings.key))


def test_no_file_with_the_key_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    import os
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert context()
    assert not list(tmp_path.iterdir())
