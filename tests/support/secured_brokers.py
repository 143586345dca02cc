"""Settings of brokers that log in to each other, on a listener with or without TLS, and their client."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcompat.security.login_lines import BEARER_MODULE, PLAIN_MODULE, SCRAM_MODULE
from support.raw_client import RawClient
from support.sasl import plain_token
from support.tls_authority import as_pem

if TYPE_CHECKING:
    from pathlib import Path
    from ssl import SSLContext

    from support.tls_authority import Authority

INSIDE: Final = MappingProxyType({"INSIDE": "SASL_SSL"})
"""Name and security protocol of the listener among brokers that `settings_inside` is for."""
OWN_PASSWORD: Final = "inside"
"""Password of the brokers' own user, `broker`."""
PASSWORD: Final = "secret"
"""Password of the users `admin`, who may do everything, and `alice`, who may do nothing."""


def sasl_settings(protocol: str, mechanism: str = "PLAIN") -> dict[str, str]:
    """Return the settings of brokers that log in to each other by a mechanism, without the listeners."""
    prefix = f"listener.name.{protocol.lower()}"
    own = f"username=broker password={OWN_PASSWORD}"
    users = f"user_broker={OWN_PASSWORD} user_admin={PASSWORD} user_alice={PASSWORD}"
    return {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
        "sasl.mechanism.inter.broker.protocol": mechanism,
        f"{prefix}.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {own} {users};",
        f"{prefix}.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required {own};",
        f"{prefix}.oauthbearer.sasl.jaas.config": f"{BEARER_MODULE} required "
        "unsecuredLoginStringClaim_sub=broker;",
        "super.users": "User:broker;User:admin",
    }


def tls_settings(authority: Authority, protocol: str, **changes: str) -> dict[str, str]:
    """Return the settings of brokers that trust one authority, and show each other its certificates."""
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": _key_of(authority),
        "ssl.keystore.certificate.chain": _chain_of(authority),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority.pem,
        f"listener.name.{protocol.lower()}.ssl.client.auth": "required",
    }
    return {**settings, **changes}


def settings_inside(authority: Authority, directory: Path, mechanism: str = "PLAIN") -> dict[str, str]:
    """Return the settings of brokers that reach each other by their listener `INSIDE`, with ACLs on. Clients
    come by PLAINTEXT and may do everything. The stores are files, which Kafka's brokers can read too.
    """
    key = directory / "broker.pem"
    key.write_bytes(as_pem(authority.broker))
    return {
        **sasl_settings("INSIDE", mechanism),
        "inter.broker.listener.name": "INSIDE",
        "listener.name.inside.ssl.client.auth": "required",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(key),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.trust_in(directory)),
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:broker;User:ANONYMOUS",
    }


def logged_in(address: tuple[str, int], user: str, tls: SSLContext | None = None) -> RawClient:
    """Return a client that has logged in by PLAIN."""
    client = RawClient(address, 20, tls=tls)
    assert client.call(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0
    token = plain_token(user, PASSWORD)
    assert client.call(SaslAuthenticateRequest(auth_bytes=token), 2).error_code == 0
    return client


def _key_of(authority: Authority) -> str:
    return authority.broker.private_key_pem.bytes().decode()


def _chain_of(authority: Authority) -> str:
    return "".join(blob.bytes().decode() for blob in authority.broker.cert_chain_pems)
