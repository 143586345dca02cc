from __future__ import annotations

import ssl
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from cryptography import x509

from kcompat.errors import UsageError
from kcompat.security.development import Authority, KeyStore

if TYPE_CHECKING:
    from pathlib import Path

STRICT = ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
"""Flags of the checks that Python 3.13 and later make by default."""


def server_context(store: KeyStore, authority: Authority, directory: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.certificate)
    context.load_cert_chain(written(store, directory / "server.pem"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= STRICT
    return context


def client_context(store: KeyStore, authority: Authority, directory: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority.certificate)
    context.load_cert_chain(written(store, directory / "client.pem"))
    context.verify_flags |= STRICT
    return context


def written(store: KeyStore, path: Path) -> Path:
    path.write_text(store.key + store.certificate)
    return path


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> ssl.SSLObject:
    """Return the server's end of a connection to `host` in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=host)
    unfinished = [theirs, ours]
    while unfinished:
        end = unfinished.pop(0)
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            unfinished.append(end)
    return ours


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "10.0.0.7", "my_broker", "bücher.example"])
def test_clients_and_brokers_trust_each_other_at_every_host(host: str, tmp_path: Path) -> None:
    authority = Authority()
    broker = authority.broker("b", ["localhost", "10.0.0.7", "my_broker", "bücher.example"])
    server = server_context(broker, authority, tmp_path)
    client = client_context(authority.client("alice"), authority, tmp_path)
    connection = shake_hands(server, client, host)
    certificate = connection.getpeercert()
    assert certificate is not None
    assert certificate["subject"] == ((("commonName", "alice"),),)


def test_a_broker_shows_its_certificate_to_other_brokers(tmp_path: Path) -> None:
    authority = Authority()
    store = authority.broker("b", [])
    shake_hands(server_context(store, authority, tmp_path), client_context(store, authority, tmp_path), "::1")


def test_another_host_and_another_authority_are_refused(tmp_path: Path) -> None:
    authority, other = Authority(), Authority()
    server = server_context(authority.broker("b", []), authority, tmp_path)
    client = client_context(authority.client("alice"), authority, tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError, match="elsewhere"):
        shake_hands(server, client, "elsewhere")
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server, client_context(other.client("alice"), other, tmp_path), "localhost")
    stranger = client_context(other.client("alice"), authority, tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server, stranger, "localhost")


def test_two_authorities_have_different_names() -> None:
    first, second = (x509.load_pem_x509_certificate(Authority().certificate.encode()) for _ in range(2))
    assert first.subject != second.subject


def test_a_key_is_in_a_form_that_java_reads_and_not_shown() -> None:
    store = Authority().client("alice")
    assert store.key.startswith("-----BEGIN PRIVATE KEY-----\n")
    assert "PRIVATE KEY" not in repr(store)


@pytest.mark.parametrize("name", ["", "a" * 65])
def test_a_name_that_no_certificate_can_have_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}' cannot be the name in a certificate"):
        Authority().client(name)


def test_a_host_that_no_certificate_can_have_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be a host in a certificate"):
        Authority().broker("b", [f"{'ü' * 64}.example"])


def test_without_the_library_the_extra_is_named() -> None:
    program = "import sys; sys.modules['cryptography'] = None; import kcompat.security.development"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "UsageError: certificates need the library cryptography: pip install 'kcompat[security]'\n"
    )
