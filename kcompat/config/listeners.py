"""Listeners: `listeners`, `advertised.listeners` and `listener.security.protocol.map` as endpoints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.config.errors import ConfigError
from kcompat.config.java_text import split_list, split_pairs

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MAX_PORT = 65535

_HOST = r"[0-9a-zA-Z\-%._:]"
_ENDPOINT = re.compile(rf"([^/:,]+)://\[?({_HOST}*)\]?:(-?[0-9]{{1,9}})")
THIS_MACHINE = "localhost"
"""The host at which clients and brokers of the same machine reach any listener."""
_WILDCARDS = ("0.0.0.0", "::", "0:0:0:0:0:0:0:0")  # noqa: S104 - only compared, never bound


class Endpoint(Struct, frozen=True):
    """One listener: name, host (empty: every interface), port (0: any free one) and security protocol."""

    name: str
    host: str
    port: int
    protocol: str

    @property
    def uses_sasl(self) -> bool:
        """Whether clients log in by SASL."""
        return self.protocol.startswith("SASL_")

    @property
    def uses_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.protocol.endswith("SSL")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def is_host(text: str) -> bool:
    """Return whether the text has only characters of host names and addresses, and at least one."""
    return re.fullmatch(f"{_HOST}+", text) is not None


def is_wildcard(host: str) -> bool:
    """Return whether a host means every interface, so that clients cannot connect to it."""
    return not host or host in _WILDCARDS


def is_loopback(host: str) -> bool:
    """Return whether a host is the loopback interface, which no other machine reaches."""
    return host in (THIS_MACHINE, "::1") or host.startswith("127.")


def read_listeners(
    listeners: str, advertised: str, protocol_map: str, controller_names: str
) -> tuple[tuple[Endpoint, ...], tuple[Endpoint, ...]]:
    """Return the endpoints to listen on and the advertised endpoints, from the texts of the four keys.

    The listeners of a KRaft controller are not opened: they are left out of both, and need no protocol.

    Raises:
        ConfigError: a text cannot be understood, or the texts do not fit together.
    """
    protocols = parse_protocol_map(protocol_map)
    controllers = {name.upper() for name in split_list(controller_names)}
    for name in controllers:
        protocols.setdefault(name, "PLAINTEXT")
    ours = _without(controllers, parse_endpoints(listeners, protocols))
    if not ours:
        raise ConfigError(f"listeners={listeners} has no listener for clients")
    told = _without(controllers, parse_endpoints(advertised, protocols, unique_ports=False))
    check_advertised(told, ours)
    return ours, told


def _without(names: Container[str], endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
    return tuple(endpoint for endpoint in endpoints if endpoint.name not in names)


def parse_protocol_map(text: str) -> dict[str, str]:
    """Parse NAME:PROTOCOL pairs.

    Raises:
        ConfigError: an element is not such a pair, a name appears twice, or Kafka has no such protocol.
    """
    try:
        pairs = split_pairs(text)
    except ValueError as error:
        raise _not_a_mapping(error.args[0]) from None
    protocols: dict[str, str] = {}
    for name, protocol in pairs:
        if not name:
            raise _not_a_mapping(f"{name}:{protocol}")
        if protocol.upper() not in PROTOCOLS:
            raise ConfigError(
                f"listener.security.protocol.map gives {name} the protocol {protocol!r}; "
                f"it must be one of {', '.join(PROTOCOLS)}"
            )
        if name.upper() in protocols:
            raise ConfigError(f"listener.security.protocol.map names {name} twice")
        protocols[name.upper()] = protocol.upper()
    return protocols


def _not_a_mapping(pair: str) -> ConfigError:
    return ConfigError(f"listener.security.protocol.map has {pair!r}, which is not of the form NAME:PROTOCOL")


def parse_endpoints(
    text: str, protocols: Mapping[str, str], *, unique_ports: bool = True
) -> tuple[Endpoint, ...]:
    """Return the endpoints of `listeners` or `advertised.listeners`.

    Raises:
        ConfigError: an element is not an endpoint, a name has no protocol, or a name or (if `unique_ports`) a
            port is used twice.
    """
    endpoints = tuple(_parse_endpoint(part, text, protocols) for part in split_list(text) if part)
    names = [endpoint.name for endpoint in endpoints]
    if len(set(names)) < len(names):
        raise ConfigError(f"Each listener must have a different name, listeners: {text}")
    if unique_ports:
        _check_ports(endpoints, text)
    return endpoints


def _parse_endpoint(part: str, whole: str, protocols: Mapping[str, str]) -> Endpoint:
    match = _ENDPOINT.fullmatch(part)
    if match is None or not -1 <= int(match[3]) <= MAX_PORT:
        raise ConfigError(
            f"Error creating broker listeners from '{whole}': "
            f"Unable to parse {part} to a broker endpoint, which is of the form NAME://HOST:PORT"
        )
    name = match[1].upper()
    protocol = protocols.get(name)
    if protocol is None:
        raise ConfigError(
            f"Error creating broker listeners from '{whole}': "
            f"No security protocol defined for listener {name}: add it to listener.security.protocol.map"
        )
    return Endpoint(name, match[2], int(match[3]), protocol)


def _check_ports(endpoints: Sequence[Endpoint], text: str) -> None:
    seen: set[tuple[str, int]] = set()
    for endpoint in endpoints:
        # One port may serve IPv4 and IPv6 as two listeners; port 0 is a different port each time.
        family = "6" if ":" in endpoint.host else "4"
        if endpoint.port > 0 and (family, endpoint.port) in seen:
            raise ConfigError(f"Each listener must have a different port, listeners: {text}")
        seen.add((family, endpoint.port))


def check_advertised(advertised: Sequence[Endpoint], listeners: Sequence[Endpoint]) -> None:
    """Raise ConfigError unless every advertised listener exists and has an address that clients can connect
    to.
    """
    known = {endpoint.name for endpoint in listeners}
    for endpoint in advertised:
        if endpoint.name not in known:
            raise ConfigError(
                f"advertised.listeners names {endpoint.name}, which is not among the listeners "
                f"({', '.join(sorted(known))})"
            )
        if endpoint.host in _WILDCARDS:
            raise ConfigError(
                f"advertised.listeners cannot use the nonroutable meta-address {endpoint.host}. "
                "Use a routable IP address."
            )


def check_inter_broker_name(name: str, listeners: Sequence[Endpoint]) -> None:
    """Raise ConfigError if `inter.broker.listener.name` is set and no listener has that name."""
    known = [endpoint.name for endpoint in listeners]
    if name and name.upper() not in known:
        raise ConfigError(
            f"inter.broker.listener.name={name} is not among the listeners ({', '.join(known)})"
        )
