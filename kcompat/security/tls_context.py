"""OpenSSL's contexts for both sides of a listener's connections, made of its settings.

The settings name cipher suites as Java does.
"""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kcompat.errors import ConfigError
from kcompat.security.key_stores import read_trust_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.security.key_stores import KeyMaterial
    from kcompat.security.tls_settings import TlsSettings


TLS_1_3: Final = frozenset(
    {"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"}
)
"""The suites of TLS 1.3, which have the same names in Java and in OpenSSL."""

_SUITE: Final = re.compile(
    "TLS_(?P<exchange>RSA|DHE_RSA|ECDHE_RSA|ECDHE_ECDSA)_WITH_"
    "(?:AES_(?P<bits>128|256)_(?P<mode>CBC|GCM)_(?P<hash>SHA|SHA256|SHA384)|CHACHA20_POLY1305_SHA256)"
)


def openssl_name(java: str) -> str | None:
    """Return OpenSSL's name of a suite of TLS 1.2; None for a name that Java does not have.

    OpenSSL need not have the suite.
    """
    found = _SUITE.fullmatch(java)
    if found is None:
        return None
    exchange = "" if found["exchange"] == "RSA" else found["exchange"].replace("_", "-") + "-"
    if found["bits"] is None:
        return f"{exchange}CHACHA20-POLY1305"
    mode = "GCM-" if found["mode"] == "GCM" else ""
    return f"{exchange}AES{found['bits']}-{mode}{found['hash']}"


_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_VERIFY: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


def make_context(settings: TlsSettings, material: KeyMaterial) -> ssl.SSLContext:
    """Return the context for the server side of a listener's connections.

    Raises:
        ConfigError: OpenSSL refuses the key, a certificate or a cipher suite.
    """
    context = _new_context(ssl.PROTOCOL_TLS_SERVER, settings)
    _load_key(context, material)
    context.verify_mode = _VERIFY[settings.client_auth]
    if context.verify_mode is not ssl.CERT_NONE:
        _load_trust(context, settings, ssl.Purpose.CLIENT_AUTH)
    return context


def make_client_context(
    settings: TlsSettings, material: KeyMaterial | None, *, checks_host: bool
) -> ssl.SSLContext:
    """Return the context for the client side of connections to a listener with these settings.

    The server must show a trusted certificate; with `checks_host` it must be of the host that is connected
    to. `material` is the key and certificate that the client shows if the server requests one.

    Raises:
        ConfigError: OpenSSL refuses the key, a certificate or a cipher suite.
    """
    context = _new_context(ssl.PROTOCOL_TLS_CLIENT, settings)
    context.check_hostname = checks_host
    context.verify_mode = ssl.CERT_REQUIRED
    if material is not None:
        _load_key(context, material)
    _load_trust(context, settings, ssl.Purpose.SERVER_AUTH)
    return context


def _new_context(side: int, settings: TlsSettings) -> ssl.SSLContext:
    """Return a context with the TLS versions and cipher suites of the settings."""
    context = ssl.SSLContext(side)
    context.minimum_version = _VERSIONS[settings.protocols[0]]
    context.maximum_version = _VERSIONS[settings.protocols[-1]]
    context.options |= ssl.OP_NO_RENEGOTIATION
    _choose_suites(context, settings.cipher_suites)
    return context


def _choose_suites(context: ssl.SSLContext, named: tuple[str, ...]) -> None:
    """Allow the named suites only; the versions of TLS without a named suite are not spoken."""
    if not named:
        return
    new = TLS_1_3.intersection(named)
    old = [_known(name) for name in named if name not in TLS_1_3]
    if new and new != TLS_1_3 and context.maximum_version is ssl.TLSVersion.TLSv1_3:
        missing = ", ".join(sorted(TLS_1_3 - new))
        raise ConfigError(
            "ssl.cipher.suites must name all suites of TLS 1.3 or none, for OpenSSL cannot be told to leave "
            f"out some of them: {missing}"
        )
    if not new:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if not old:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if context.minimum_version > context.maximum_version:
        raise ConfigError("ssl.cipher.suites names no suite of any version in ssl.enabled.protocols")
    if old:
        context.set_ciphers(":".join(old))


def _known(name: str) -> str:
    """Return OpenSSL's name of a suite of TLS 1.2. Raises ConfigError if OpenSSL does not have it."""
    found = openssl_name(name)
    if found is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(found)
        except ssl.SSLError:
            pass
        else:
            return found
    raise ConfigError(f"ssl.cipher.suites names {name}, which OpenSSL does not have")


def _load_key(context: ssl.SSLContext, material: KeyMaterial) -> None:
    text = material.key + "".join(material.chain)
    password = material.key_password
    try:
        with _as_file(text.encode()) as path:
            # Without a password OpenSSL would ask for one at the terminal.
            context.load_cert_chain(path, password=(password or "").encode())
    except ssl.SSLError as error:
        raise ConfigError(f"The key store cannot be used: {_reason(error, password)}") from None
    except ValueError:  # a password longer than OpenSSL takes
        raise ConfigError("The key store cannot be used: its key cannot be decrypted") from None


def _reason(error: ssl.SSLError, password: str | None) -> str:
    """Return, in words, the reason why OpenSSL refuses a key and its certificates."""
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the certificate is not of its key"
    if not error.reason or error.reason in ("BAD_DECRYPT", "BAD_PASSWORD_READ"):
        if not password:
            return "its key is encrypted, set ssl.key.password"
        return "its key cannot be decrypted with ssl.key.password"
    return error.reason.replace("_", " ").lower()


def _load_trust(context: ssl.SSLContext, settings: TlsSettings, purpose: ssl.Purpose) -> None:
    # As in Java, each certificate of the store is trusted, also one that another issued.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not settings.trust.is_set:
        context.load_default_certs(purpose)
        return
    try:
        context.load_verify_locations(cadata=read_trust_store(settings.trust))
    except ssl.SSLError:
        raise ConfigError("The trust store cannot be used: a certificate in it is damaged") from None


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Yield the path of a file with this content that only this user can read, and remove it afterwards.

    OpenSSL reads keys only from files. On Linux the file is in memory.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
        return
    with tempfile.NamedTemporaryFile() as file:  # of mode 0600
        file.write(content)
        file.flush()
        yield file.name
