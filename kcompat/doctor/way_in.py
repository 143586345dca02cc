"""Checks of a client's connection to its first broker: the address, TLS and the login."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.admin.connection import LostConnectionError
from kcompat.admin.errors import JavaError
from kcompat.doctor.finding import error
from kcompat.doctor.probe import (
    CannotConnectError,
    Failure,
    Speech,
    look_at,
    offered_mechanisms,
    serves_without_login,
)
from kcompat.peer.errors import PeerFault
from kcompat.protocol.api_keys import ApiKey
from kcompat.wording import as_address

if TYPE_CHECKING:
    from kcompat.admin.client import AdminClient
    from kcompat.admin.settings import ClientSettings
    from kcompat.doctor.finding import Finding
    from kcompat.doctor.probe import Address, Port

_SHORT_S: Final = 1.0
"""Seconds that a port has for each probe at the end of a command, which has waited for it before."""

CONFIG_ADVICE: Final = "in the file of --command-config"

_BEFORE_REASON: Final = "Authentication failed during authentication due to "
"""Beginning of brokers' answers to a wrong password, which the finding leaves out."""

_FAILURES: Final = {
    Failure.NAME: (
        "name-does-not-resolve",
        "the name {host} does not resolve on this machine",
        "Check the spelling, or make the name known here, in DNS or in /etc/hosts.",
    ),
    Failure.REFUSED: (
        "nothing-listens",
        "nothing listens at {at}",
        "Start the broker, or use the port of one of its listeners.",
    ),
    Failure.SILENT: (
        "no-answer",
        "{at} does not answer",
        "Check firewalls and security groups between this machine and the broker.",
    ),
    Failure.UNREACHABLE: (
        "no-route",
        "there is no way from this machine to {at}",
        "Check the address and the network.",
    ),
}

_OTHER_PORTS: Final = {
    Speech.HTTP: (
        "http-port",
        "{at} speaks HTTP: it is a port for a console, metrics or a REST proxy",
        "Use the port of a listener, which is 9092 unless configured otherwise.",
    ),
    Speech.ZOOKEEPER: (
        "zookeeper-port",
        "{at} is the port of ZooKeeper, not of a broker",
        "Use the port of a listener, which is 9092 unless configured otherwise.",
    ),
    Speech.NOTHING: (
        "silent-port",
        "{at} accepts connections and does not answer a request",
        "Check what listens there; a proxy may have no broker behind it.",
    ),
    Speech.OTHER: (
        "other-protocol",
        "{at} answers in another protocol than Kafka's",
        "Check what listens there, and use the port of a listener.",
    ),
}


_FAILURE_OF: Final = {
    PeerFault.REFUSED: _FAILURES[Failure.REFUSED],
    PeerFault.TIMED_OUT: _FAILURES[Failure.SILENT],
    PeerFault.UNREACHABLE: _FAILURES[Failure.UNREACHABLE],
    PeerFault.NO_ANSWER: _OTHER_PORTS[Speech.NOTHING],
}
"""Texts of the finding where a client has no connection, or no answer on it."""


def explain(settings: ClientSettings, address: Address, fault: LostConnectionError | JavaError) -> Finding:
    """Return why a client with these settings had no answer from a broker, after a look at its port where
    the fault alone does not say it.
    """
    at = as_address(*address)
    if isinstance(fault, JavaError):
        return look_at_port(settings, address, _SHORT_S) or _refused(fault, at)
    if fault.fault is PeerFault.UNKNOWN:
        return error("broker-not-in-cluster", f"{fault}", f"Start it, or name one that {at} knows.")
    if fault.fault in _FAILURE_OF:
        return _finding(_FAILURE_OF[fault.fault], address)
    return look_at_port(settings, address, _SHORT_S) or _ended(fault, at)


def look_at_port(settings: ClientSettings, address: Address, timeout_s: float) -> Finding | None:
    """Return why a client with these settings cannot use the first address, if so; `timeout_s` is how long
    the port may take for each probe.
    """
    at = as_address(*address)
    try:
        port = look_at(address, timeout_s, by_tls=settings.has_tls)
    except CannotConnectError as fault:
        return _finding(_FAILURES[fault.failure], address)
    if port.speech in _OTHER_PORTS:
        return _finding(_OTHER_PORTS[port.speech], address)
    found = _wrong_security(settings, port, at) or _wrong_apis(port, at)
    if found is None and port.speech is Speech.KAFKA:
        found = _wrong_login(settings, address, timeout_s)
    return found


def _finding(texts: tuple[str, str, str], address: Address) -> Finding:
    name, what, advice = texts
    return error(name, what.format(host=address[0], at=as_address(*address)), advice)


def _wrong_security(settings: ClientSettings, port: Port, at: str) -> Finding | None:
    """Return the finding about a port whose security protocol differs from the client's."""
    if port.speech is Speech.TLS and not settings.has_tls:
        return error(
            "plain-on-tls-port",
            f"{at} speaks TLS, and the client does not",
            f"Set security.protocol=SSL, or SASL_SSL with a login, {CONFIG_ADVICE}.",
        )
    if port.speech is Speech.KAFKA and settings.has_tls:
        return error(
            "tls-on-plain-port",
            f"{at} speaks no TLS, and the client does",
            "Use the port of a listener with TLS, or set security.protocol=PLAINTEXT or SASL_PLAINTEXT.",
        )
    return None


def _wrong_login(settings: ClientSettings, address: Address, timeout_s: float) -> Finding | None:
    """Return the finding of a listener without TLS that asks for another login than the client's."""
    at, mechanism = as_address(*address), settings.text("sasl.mechanism") or ""
    if not settings.has_login:
        if serves_without_login(address, timeout_s):
            return None
        mechanisms = offered_mechanisms(address, timeout_s, mechanism)
        if mechanisms is None:
            return None
        return error(
            "login-needed",
            f"{at} asks for a login by {' or '.join(mechanisms)}, and the client has none",
            f"Set security.protocol=SASL_PLAINTEXT, sasl.mechanism and sasl.jaas.config {CONFIG_ADVICE}.",
        )
    mechanisms = offered_mechanisms(address, timeout_s, mechanism)
    if mechanisms is None:
        return error(
            "login-not-expected",
            f"{at} asks for no login, and the client tries to log in",
            "Use the port of a listener with SASL, or set security.protocol=PLAINTEXT.",
        )
    if mechanism not in mechanisms:
        return error(
            "mechanism-not-offered",
            f"{at} offers {' and '.join(mechanisms)}, and not {mechanism}",
            "Set sasl.mechanism to one of those, or enable it with sasl.enabled.mechanisms of the broker.",
        )
    return None


def _wrong_apis(port: Port, at: str) -> Finding | None:
    """Return the finding about a port that serves no clients."""
    if port.speech is Speech.KAFKA and ApiKey.METADATA not in port.versions:
        return error(
            "controller-port",
            f"{at} is a listener for controllers, and serves no clients",
            "Use the port of a listener of a broker.",
        )
    return None


def log_in(admin: AdminClient, at: str) -> Finding | None:
    """Make the first request as the client would; return the reason why it fails, or None."""
    try:
        admin.topics([])
    except JavaError as fault:
        return _refused(fault, at)
    except LostConnectionError as fault:
        return _ended(fault, at)
    return None


def _ended(fault: LostConnectionError, at: str) -> Finding:
    return error("no-answer", f"{at} ends the connection: {fault}", "Read the log of the broker.")


def _refused(fault: JavaError, at: str) -> Finding:
    match fault.name:
        case "SslAuthenticationException":
            return _bad_certificate(f"{fault.__cause__ or fault}", at)
        case "UnsupportedSaslMechanismException":
            return error(
                "mechanism-not-offered",
                f"{at} does not offer this login: {fault}",
                "Set sasl.mechanism to one that is offered.",
            )
        case "SaslAuthenticationException":
            return error(
                "login-refused",
                f"{at} refuses the login: {f'{fault}'.removeprefix(_BEFORE_REASON)}",
                "Check user and password in sasl.jaas.config, and that the broker knows the user.",
            )
    return error("no-answer", f"{at} does not answer a request: {fault}", "Read the log of the broker.")


def _bad_certificate(reason: str, at: str) -> Finding:
    if "mismatch" in reason:
        return error(
            "certificate-for-other-name",
            f"the certificate of {at} is for another name: {reason}",
            "Connect by a name in the certificate, or make one with this name as subjectAltName.",
        )
    if "expired" in reason or "not yet valid" in reason:
        return error(
            "certificate-not-valid-now",
            f"the certificate of {at} is not valid at this time: {reason}",
            "Renew the certificate, or set the clock of this machine.",
        )
    if "alert" in reason.lower():
        return error(
            "client-certificate-refused",
            f"{at} refuses the client in the handshake: {reason}",
            f"Set ssl.keystore.location to a certificate that it trusts, {CONFIG_ADVICE}.",
        )
    return error(
        "certificate-not-trusted",
        f"the certificate of {at} is not trusted: {reason}",
        f"Set ssl.truststore.location to the authority that signed it, {CONFIG_ADVICE}.",
    )
