"""Key stores and trust stores in each format, and what is wrong with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.errors import ConfigError
from kcompat.security.key_stores import Store, read_key_store, read_trust_store
from support.tls_authority import PASSWORD, Authority, as_pem, as_pkcs12

if TYPE_CHECKING:
    from pathlib import Path

AUTHORITY = Authority()
CHAIN = tuple(blob.bytes().decode() for blob in AUTHORITY.broker.cert_chain_pems)


def placed(directory: Path, content: bytes, name: str = "store") -> str:
    path = directory / name
    path.write_bytes(content)
    return str(path)


def test_a_pem_file_has_key_and_chain(tmp_path: Path) -> None:
    store = Store("key", "PEM", placed(tmp_path, as_pem(AUTHORITY.broker)), None)
    material = read_key_store(store)
    assert material.chain == CHAIN
    assert material.key.startswith("-----BEGIN PRIVATE KEY-----\n")


@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
def test_a_pkcs12_file_is_read_under_either_type(tmp_path: Path, kind: str) -> None:
    store = Store("key", kind, placed(tmp_path, as_pkcs12(AUTHORITY.broker)), PASSWORD)
    assert read_key_store(store).chain == CHAIN


def test_a_trust_store_may_be_pem_or_pkcs12(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
    from cryptography.x509 import load_pem_x509_certificate

    certificate = load_pem_x509_certificate(AUTHORITY.pem.encode())
    content = serialize_key_and_certificates(
        None, None, None, [certificate], BestAvailableEncryption(PASSWORD.encode())
    )
    in_pem = Store("trust", "PEM", placed(tmp_path, AUTHORITY.pem.encode(), "ca.pem"), None)
    in_pkcs12 = Store("trust", "PKCS12", placed(tmp_path, content, "ca.p12"), PASSWORD)
    inline = Store("trust", "PEM", None, None, inline_certificates=AUTHORITY.pem)
    for store in (in_pem, in_pkcs12, inline):
        assert read_trust_store(store) == AUTHORITY.pem


def test_a_java_key_store_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    path = placed(tmp_path, b"\xfe\xed\xfe\xed\0\0\0\2", "broker.jks")
    with pytest.raises(ConfigError) as caught:
        read_key_store(Store("key", "JKS", path, PASSWORD))
    target = tmp_path / "broker.p12"
    assert str(caught.value) == (
        f"ssl.keystore.location={path} is in Java's own format JKS, which only Java can read. Convert it "
        f"with `keytool -importkeystore -srckeystore {path} -destkeystore {target} -deststoretype PKCS12`, "
        f"then set ssl.keystore.location={target} and ssl.keystore.type=PKCS12"
    )


@pytest.mark.parametrize(
    ("store", "message"),
    [
        (Store("key", "JKS", None, None), "A listener with TLS needs a key store"),
        (Store("key", "BKS", "/x", "p"), "ssl.keystore.type=BKS is not supported: PEM and PKCS12 are"),
        (Store("key", "PKCS12", "/no/such", "p"), "ssl.keystore.location=/no/such cannot be read: No such"),
        (Store("key", "PKCS12", "/x\0", "p"), "cannot be read: it is no file name"),
        (Store("key", "JKS", None, None, None, "key", "chain"),
         "SSL private key can be specified only for PEM, but key store type is JKS."),
        (Store("key", "PEM", "/x", None, None, "key", "chain"),
         "Both SSL key store location and separate private key are specified."),
        (Store("key", "PEM", None, "p", None, "key", "chain"),
         "SSL key store password cannot be specified with PEM format, only key password may be specified."),
        (Store("key", "PEM", "/x", "p"),
         "SSL key store password cannot be specified with PEM format, only key password may be specified."),
        (Store("key", "PEM", None, None, None, None, "chain"),
         "SSL certificate chain is specified, but private key is not specified"),
        (Store("key", "JKS", None, "p"),
         "SSL key store is not specified, but key store password is specified."),
        (Store("key", "JKS", "/x", None),
         "key store password is not specified. Set ssl.keystore.password, or ssl.keystore.type=PEM"),
        (Store("trust", "JKS", None, None, inline_certificates="pem"),
         "SSL trust store certs can be specified only for PEM, but trust store type is JKS."),
        (Store("trust", "PEM", "/x", "p"), "SSL trust store password cannot be specified with PEM format."),
        (Store("key", "PEM", None, None, None, "no PEM", "none"), "must have one private key, and has 0"),
        (Store("trust", "PEM", None, None, inline_certificates="none"), "has no certificate"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_are_refused_as_by_kafka(store: Store, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        (read_key_store if store.kind == "key" else read_trust_store)(store)
    assert message in str(caught.value)


@pytest.mark.parametrize("password", ["close sesame", "opensesam"])
def test_a_wrong_password_is_not_repeated(tmp_path: Path, password: str) -> None:
    store = Store("key", "PKCS12", placed(tmp_path, as_pkcs12(AUTHORITY.broker)), password)
    with pytest.raises(ConfigError) as caught:
        read_key_store(store)
    assert str(caught.value).endswith("cannot be read: the password is wrong, or it is no PKCS12 file")
    assert password not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("kind", ["key", "trust"])
def test_a_pem_file_without_its_type_is_named(tmp_path: Path, kind: str) -> None:
    store = Store(kind, "JKS", placed(tmp_path, b"-----BEGIN CERTIFICATE-----"), "password")
    with pytest.raises(ConfigError, match=rf"is a PEM file: set ssl\.{kind}store\.type=PEM"):
        (read_key_store if kind == "key" else read_trust_store)(store)


def test_secrets_are_not_shown() -> None:
    store = Store("key", "PEM", None, "opensesame", "opensesame", "opensesame", "opensesame")
    assert repr(store) == "Store(key, PEM, None)"
    assert "PRIVATE" not in repr(read_key_store(AUTHORITY.key_store()))
