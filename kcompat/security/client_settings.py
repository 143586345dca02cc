"""Settings with which clients of several libraries connect to a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.security.login_lines import login_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ClientAccess(Struct, frozen=True):
    """The addresses of a broker, and the credentials that a client needs to log in there."""

    bootstrap_servers: str
    protocol: str
    """Security protocol of the listener, such as `SASL_SSL`."""
    ca_file: str | None = None
    """PEM file with the authority that the client trusts; None without TLS."""
    certificate_file: str | None = None
    """PEM file with the client's key and certificate; None for a client that shows no certificate."""
    login: ClientLogin | None = None
    """Login by SASL; None for a listener without SASL."""


class ClientLogin(Struct, frozen=True):
    """A SASL mechanism, and the user and the password for it."""

    mechanism: str
    user: str
    password: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mechanism={self.mechanism!r}, user={self.user!r})"


def _java(access: ClientAccess) -> dict[str, object]:
    settings: dict[str, object] = {
        "bootstrap.servers": access.bootstrap_servers,
        "security.protocol": access.protocol,
    }
    if access.ca_file is not None:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": access.ca_file}
    if access.certificate_file is not None:
        settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": access.certificate_file}
    if access.login is not None:
        options = {"username": access.login.user, "password": access.login.password}
        settings |= {
            "sasl.mechanism": access.login.mechanism,
            "sasl.jaas.config": login_line(access.login.mechanism, options),
        }
    return settings


def _spark(access: ClientAccess) -> dict[str, object]:
    return {f"kafka.{name}": value for name, value in _java(access).items()}


def _confluent(access: ClientAccess) -> dict[str, object]:
    settings: dict[str, object] = {
        "bootstrap.servers": access.bootstrap_servers,
        "security.protocol": access.protocol,
    }
    if access.ca_file is not None:
        settings["ssl.ca.location"] = access.ca_file
    if access.certificate_file is not None:
        settings["ssl.certificate.location"] = settings["ssl.key.location"] = access.certificate_file
    if access.login is not None:
        settings |= {
            "sasl.mechanism": access.login.mechanism,
            "sasl.username": access.login.user,
            "sasl.password": access.login.password,
        }
    return settings


def _python(access: ClientAccess) -> dict[str, object]:
    """Return the settings that kafka-python and aiokafka have in common."""
    settings: dict[str, object] = {
        "bootstrap_servers": access.bootstrap_servers,
        "security_protocol": access.protocol,
    }
    if access.login is not None:
        settings |= {
            "sasl_mechanism": access.login.mechanism,
            "sasl_plain_username": access.login.user,
            "sasl_plain_password": access.login.password,
        }
    return settings


def _kafka_python(access: ClientAccess) -> dict[str, object]:
    settings = _python(access)
    if access.ca_file is not None:
        settings["ssl_cafile"] = access.ca_file
    if access.certificate_file is not None:
        settings["ssl_certfile"] = settings["ssl_keyfile"] = access.certificate_file
    return settings


def _aiokafka(access: ClientAccess) -> dict[str, object]:
    settings = _python(access)
    if access.ca_file is not None:
        import ssl  # a broker without TLS does without OpenSSL

        context = ssl.create_default_context(cafile=access.ca_file)
        if access.certificate_file is not None:
            context.load_cert_chain(access.certificate_file)
        settings["ssl_context"] = context
    return settings


SETTINGS: Final[Mapping[str, Callable[[ClientAccess], dict[str, object]]]] = {
    "confluent": _confluent,
    "kafka-python": _kafka_python,
    "aiokafka": _aiokafka,
    "java": _java,
    "spark": _spark,
}
"""Function that returns the settings for a library, by the library's name. All values are texts, but for the
`ssl_context` of aiokafka, which takes its certificates in no other form."""
