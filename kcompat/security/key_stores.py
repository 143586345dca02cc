"""Key stores and trust stores in Kafka's formats: PEM (KIP-651) and PKCS12.

A store is read into PEM texts in memory. PKCS12 needs the library `cryptography`, which is imported for the
first such store. Java's own format JKS cannot be read; the error names the command that converts it. Java
also reads PKCS12 files if the type is JKS, so the content of the file decides between the two.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.errors import ConfigError
from kcompat.security import pem

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates
    from cryptography.x509 import Certificate

JAVA_MAGIC: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""First bytes of files of the types JKS and JCEKS."""
MAX_STORE: Final = 16 * 1024 * 1024
"""Maximum number of bytes of a store that are read."""


class Store(Struct, frozen=True):
    """The settings of one store. Its `repr` shows no secrets."""

    kind: str
    """`key` or `trust`, as in the names of its settings."""
    type: str
    location: str | None
    password: str | None
    key_password: str | None = None
    inline_key: str | None = None
    inline_certificates: str | None = None

    def __repr__(self) -> str:
        return f"Store({self.kind}, {self.type}, {self.location})"

    @property
    def is_set(self) -> bool:
        """Whether a store is configured."""
        return bool(self.location or self.inline_key or self.inline_certificates)

    @property
    def name(self) -> str:
        """Prefix of the names of its settings."""
        return f"ssl.{self.kind}store"


class KeyMaterial(Struct, frozen=True):
    """The private key and the certificate chain of a listener, as PEM. Its `repr` does not show the key."""

    key: str
    key_password: str | None
    """Password of `key`, if that is encrypted."""
    chain: tuple[str, ...]
    """The certificate of the key, then those of its issuers."""

    def __repr__(self) -> str:
        return f"KeyMaterial({len(self.chain)} certificates)"


def read_key_store(store: Store) -> KeyMaterial:
    """Return the key and the certificates of a key store.

    Raises:
        ConfigError: the settings do not fit together, or the store cannot be read.
    """
    _check_settings(store)
    if not store.is_set:
        raise ConfigError(
            "A listener with TLS needs a key store: set ssl.keystore.location, or ssl.keystore.key and "
            "ssl.keystore.certificate.chain"
        )
    if store.type == "PEM":
        blocks = pem.blocks(_pem_text(store))
        keys = [block for block in blocks if block.is_key]
        chain = tuple(str(block) for block in blocks if block.is_certificate)
        if len(keys) != 1:
            raise ConfigError(
                f"The key store ({_place(store)}) must have one private key, and has {len(keys)}"
            )
        if not chain:
            raise ConfigError(f"The key store ({_place(store)}) has no certificate")
        return KeyMaterial(str(keys[0]), store.key_password, chain)
    return _key_of_pkcs12(store)


def read_trust_store(store: Store) -> str:
    """Return the certificates of a trust store as one PEM text.

    Raises:
        ConfigError: as for `read_key_store`.
    """
    _check_settings(store)
    if store.type == "PEM":
        found = [str(block) for block in pem.blocks(_pem_text(store)) if block.is_certificate]
    else:
        content = _pkcs12(store)
        all_of_it = [content.cert, *content.additional_certs]
        found = [_as_pem(each.certificate) for each in all_of_it if each is not None]
    if not found:
        raise ConfigError(f"The trust store ({_place(store)}) has no certificate")
    return "".join(found)


def _check_settings(store: Store) -> None:
    """Refuse combinations of settings that Kafka refuses, with Kafka's messages
    (`DefaultSslEngineFactory`).
    """
    is_pem, kind = store.type == "PEM", store.kind
    inline = store.inline_key or (store.inline_certificates if kind == "trust" else None)
    what = "SSL private key" if kind == "key" else "SSL trust store certs"
    if inline:
        if not is_pem:
            raise ConfigError(f"{what} can be specified only for PEM, but {kind} store type is {store.type}.")
        if store.location:
            other = "separate private key" if kind == "key" else "separate trust certificates"
            raise ConfigError(f"Both SSL {kind} store location and {other} are specified.")
    elif store.inline_certificates:
        raise ConfigError("SSL certificate chain is specified, but private key is not specified")
    if is_pem and store.password:
        hint = ", only key password may be specified." if kind == "key" else "."
        raise ConfigError(f"SSL {kind} store password cannot be specified with PEM format{hint}")
    if not inline and not store.location and store.password:
        raise ConfigError(f"SSL {kind} store is not specified, but {kind} store password is specified.")
    if kind == "key" and store.location and not is_pem and not store.password:
        raise ConfigError(
            "SSL key store is specified, but key store password is not specified. "
            "Set ssl.keystore.password, or ssl.keystore.type=PEM if the file is in PEM"
        )


def _place(store: Store) -> str:
    return f"{store.name}.location={store.location}" if store.location else f"PEM in {store.name} settings"


def _content(store: Store) -> bytes:
    assert store.location is not None
    try:
        with Path(store.location).open("rb") as file:
            content = file.read(MAX_STORE + 1)
    except OSError as error:
        raise ConfigError(f"{_place(store)} cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise ConfigError(f"{_place(store)} cannot be read: it is no file name") from None
    if len(content) > MAX_STORE:
        raise ConfigError(f"{_place(store)} cannot be read: it has more than {MAX_STORE} bytes")
    return content


def _pem_text(store: Store) -> str:
    if store.location:
        return _content(store).decode("utf-8", "replace")
    return f"{store.inline_key or ''}\n{store.inline_certificates or ''}"


def _pkcs12(store: Store) -> PKCS12KeyAndCertificates:
    if store.type not in ("PKCS12", "JKS"):
        raise ConfigError(f"{store.name}.type={store.type} is not supported: PEM and PKCS12 are")
    content = _content(store)
    if content.startswith(JAVA_MAGIC):
        raise ConfigError(_conversion(store))
    if b"-----BEGIN " in content:
        raise ConfigError(f"{_place(store)} is a PEM file: set {store.name}.type=PEM, and no store password")
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise ConfigError(
            f"{_place(store)} is a PKCS12 file, and to read it needs the library cryptography: "
            "pip install 'kcompat[security]'"
        ) from None
    try:
        return load_pkcs12(content, store.password.encode() if store.password else None)
    except Exception:
        raise ConfigError(
            f"{_place(store)} cannot be read: the password is wrong, or it is no PKCS12 file"
        ) from None


def _conversion(store: Store) -> str:
    """Return the refusal of a JKS file, with the command that converts it."""
    assert store.location is not None
    target = Path(store.location).with_suffix(".p12")
    return (
        f"{_place(store)} is in Java's own format JKS, which only Java can read. Convert it with "
        f"`keytool -importkeystore -srckeystore {store.location} -destkeystore {target} "
        f"-deststoretype PKCS12`, then set {store.name}.location={target} and {store.name}.type=PKCS12"
    )


def _key_of_pkcs12(store: Store) -> KeyMaterial:
    content = _pkcs12(store)
    if content.key is None or content.cert is None:
        raise ConfigError(f"The key store ({_place(store)}) has no private key with a certificate")
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = content.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    chain = _chain(content.cert.certificate, [each.certificate for each in content.additional_certs])
    return KeyMaterial(key, None, tuple(map(_as_pem, chain)))


def _chain(first: Certificate, others: list[Certificate]) -> list[Certificate]:
    """Return a certificate and its chain of issuers, as far as they are among `others`."""
    chain, left = [first], list(others)
    while chain[-1].issuer != chain[-1].subject:
        issuer = next((each for each in left if each.subject == chain[-1].issuer), None)
        if issuer is None:
            break
        left.remove(issuer)
        chain.append(issuer)
    return chain


def _as_pem(certificate: Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()
