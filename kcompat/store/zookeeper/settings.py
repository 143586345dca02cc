"""The checked settings of connections to a ZooKeeper ensemble, from Kafka's `zookeeper.*` keys."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kcompat.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

AUTH_VARIABLE = "KCOMPAT_ZOOKEEPER_AUTH"
"""Name of the environment variable that holds the credential, which is a secret and should not be in a
properties file.
"""

_VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}


class Credential(Struct, frozen=True):
    """Credential that a session sends to ZooKeeper; with the scheme "digest" the text is `user:password`."""

    scheme: str
    text: str


def credentials(environ: Mapping[str, str]) -> list[Credential]:
    """Return the credentials in the environment, `KCOMPAT_ZOOKEEPER_AUTH=digest:USER:PASSWORD`.

    Raises StoreUnavailableError if the variable has another form.
    """
    text = environ.get(AUTH_VARIABLE, "")
    if not text:
        return []
    scheme, _, credential = text.partition(":")
    if scheme != "digest" or ":" not in credential:
        raise StoreUnavailableError(f"{AUTH_VARIABLE} must be of the form digest:USER:PASSWORD")
    return [Credential(scheme, credential)]


class ZooKeeperTls(Struct, frozen=True):
    """TLS settings of connections to ZooKeeper. The stores are PEM files: trusted certificates, and a key
    with its certificates.
    """

    truststore: str | None = None
    keystore: str | None = None
    keystore_password: str | None = None
    versions: Sequence[str] = ("TLSv1.2",)
    """Enabled TLS versions; all versions between the lowest and the highest of these are allowed."""
    cipher_suites: Sequence[str] = ()
    checks_host_name: bool = True
    checks_revocation: bool = False

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of connections. Raises `StoreUnavailableError` with the reason in one
        sentence.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.checks_host_name
        try:
            versions = sorted(_VERSIONS[name] for name in self.versions)
            context.minimum_version, context.maximum_version = versions[0], versions[-1]
            if self.cipher_suites:
                context.set_ciphers(":".join(self.cipher_suites))
            if self.truststore is None:
                context.load_default_certs()
            else:
                context.load_verify_locations(self.truststore)
            if self.keystore is not None:
                context.load_cert_chain(self.keystore, password=self.keystore_password or "")
        except KeyError as error:
            raise StoreUnavailableError(f"zookeeper.ssl: there is no TLS version {error}") from error
        except OSError as error:  # includes SSLError
            files = " and ".join(name for name in (self.truststore, self.keystore) if name)
            raise StoreUnavailableError(
                f"zookeeper.ssl: {files or 'the settings'} cannot be used, PEM files are needed: {error}"
            ) from error
        if self.checks_revocation:
            context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
        return context


class ZooKeeperSettings(Struct, frozen=True):
    """Servers of the ensemble, and the settings of sessions. Times in ms."""

    servers: str
    """Servers as `host:port`, separated by commas."""
    chroot: str = ""
    """Path below which all nodes lie; "" for the whole tree."""
    session_timeout_ms: int = 18_000
    connection_timeout_ms: int = 18_000
    max_in_flight_requests: int = 10
    set_acl: bool = False
    """Whether only the creator of a node may change it (`zookeeper.set.acl`)."""
    credentials: Sequence[Credential] = ()
    tls: ZooKeeperTls | None = None

    @classmethod
    def read(cls, get: Callable[[str], Any], credentials: Sequence[Credential] = ()) -> ZooKeeperSettings:
        """Read the settings through `get`, which returns the value of a Kafka key. Raises
        `StoreUnavailableError` if they are invalid.
        """
        servers, chroot = parse_connect(get("zookeeper.connect"))
        session_timeout_ms = get("zookeeper.session.timeout.ms")
        connection_timeout_ms = get("zookeeper.connection.timeout.ms")
        tls = _tls(get) if get("zookeeper.ssl.client.enable") else None
        if get("zookeeper.set.acl") and not credentials and (tls is None or tls.keystore is None):
            raise StoreUnavailableError(
                "zookeeper.set.acl needs the owner of the nodes: "
                f"set {AUTH_VARIABLE}=digest:USER:PASSWORD, or a key store for TLS"
            )
        return cls(
            servers,
            chroot,
            session_timeout_ms,
            session_timeout_ms if connection_timeout_ms is None else connection_timeout_ms,
            get("zookeeper.max.in.flight.requests"),
            get("zookeeper.set.acl"),
            credentials,
            tls,
        )


def parse_connect(connect: str) -> tuple[str, str]:
    """Return the servers and the chroot of `HOST:PORT[,HOST:PORT...][/CHROOT]`. Raises
    `StoreUnavailableError`.
    """
    servers, slash, path = connect.partition("/")
    chroot = (slash + path).rstrip("/")
    hosts = [server.strip() for server in servers.split(",")]
    if not all(hosts) or "//" in chroot:
        raise StoreUnavailableError(
            f"zookeeper.connect must be of the form HOST:PORT[,HOST:PORT...][/CHROOT], but it is {connect!r}"
        )
    for host in hosts:
        _, colon, port = host.rpartition(":")
        if colon and not host.endswith("]") and not port.isdecimal():
            raise StoreUnavailableError(f"zookeeper.connect: {host!r} has no number for its port")
    return ",".join(hosts), chroot


def _tls(get: Callable[[str], Any]) -> ZooKeeperTls:
    protocol = get("zookeeper.ssl.protocol")
    algorithm = get("zookeeper.ssl.endpoint.identification.algorithm")
    return ZooKeeperTls(
        _pem("truststore", get),
        _pem("keystore", get),
        get("zookeeper.ssl.keystore.password"),
        get("zookeeper.ssl.enabled.protocols") or (protocol,),
        get("zookeeper.ssl.cipher.suites") or (),
        algorithm.upper() == "HTTPS",
        get("zookeeper.ssl.crl.enable"),
    )


def _pem(store: str, get: Callable[[str], Any]) -> str | None:
    """Return the file of a key store or trust store, whose type must be PEM; None if it is not configured."""
    location = get(f"zookeeper.ssl.{store}.location")
    if location is None:
        return None
    kind = get(f"zookeeper.ssl.{store}.type")
    if (kind or Path(location).suffix.lstrip(".")).upper() != "PEM":
        raise StoreUnavailableError(
            f"zookeeper.ssl.{store}.location: only PEM files are read; convert {location}, and set "
            f"zookeeper.ssl.{store}.type=PEM"
        )
    return str(location)
