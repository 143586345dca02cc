"""The settings of a client under the keys of Kafka's Java clients, as `--command-config` files hold them.

Keys that change nothing here, such as those of metrics, are accepted. Kafka's counterpart:
`AdminClientConfig`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kcompat.admin.errors import JavaError, config_error, kafka_error
from kcompat.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_NUMBERS: Final = {
    "request.timeout.ms": 30_000,
    "default.api.timeout.ms": 60_000,
    "retry.backoff.ms": 100,
    "retry.backoff.max.ms": 1000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1000,
    "socket.connection.setup.timeout.ms": 10_000,
}
_TEXTS: Final = {
    "sasl.mechanism": "GSSAPI",
    "ssl.endpoint.identification.algorithm": "https",
    "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    "ssl.keystore.type": "JKS",
    "ssl.truststore.type": "JKS",
}
_ADDRESS: Final = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")


class ClientSettings:
    """The checked settings of one client."""

    def __init__(self, properties: Mapping[str, str], kind: str = "adminclient") -> None:
        """Check the settings; `kind` is the first part of the generated client id if `client.id` is not set.

        Raises:
            JavaError: a setting is invalid; the text is that of Java's client.
        """
        self._given = dict(properties)
        self._numbers = {name: self._number(name, default) for name, default in _NUMBERS.items()}
        self.protocol = properties.get("security.protocol", PROTOCOLS[0]).upper()
        """Security protocol, such as `SASL_SSL`."""
        if self.protocol not in PROTOCOLS:
            raise config_error(
                f"Invalid value {properties['security.protocol']} for configuration security.protocol: "
                f"String must be one of (case insensitive): {', '.join(reversed(PROTOCOLS))}"
            )
        self.client_id = properties.get("client.id") or f"{kind}-1"
        self._limit_request_timeout()
        self.bootstrap = self._addresses()
        """Bootstrap addresses as (host, port); at least one."""

    def text(self, key: str) -> str | None:
        """Return the value of a key, its default, or None."""
        return self._given.get(key, _TEXTS.get(key))

    def milliseconds(self, key: str) -> int:
        """Return the value of one of the keys that are times in ms."""
        return self._numbers[key]

    @property
    def has_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.protocol.endswith("SSL")

    @property
    def has_login(self) -> bool:
        """Whether the client logs in by SASL."""
        return self.protocol.startswith("SASL")

    def _number(self, name: str, default: int) -> int:
        text = self._given.get(name)
        if text is None:
            return default
        try:
            value = int(text.strip())
        except ValueError:
            raise config_error(
                f"Invalid value {text} for configuration {name}: Not a number of type INT"
            ) from None
        if value < 0:
            raise config_error(f"Invalid value {value} for configuration {name}: Value must be at least 0")
        return value

    def _limit_request_timeout(self) -> None:
        """Limit the timeout of a request to that of the whole call (`configureDefaultApiTimeoutMs`)."""
        numbers = self._numbers
        if numbers["default.api.timeout.ms"] < numbers["request.timeout.ms"]:
            if "default.api.timeout.ms" in self._given:
                raise config_error(
                    "The specified value of default.api.timeout.ms must be no smaller than the value of "
                    "request.timeout.ms."
                )
            numbers["default.api.timeout.ms"] = numbers["request.timeout.ms"]

    def _addresses(self) -> tuple[tuple[str, int], ...]:
        text = self._given.get("bootstrap.servers")
        if text is None:
            raise config_error(
                'Missing required configuration "bootstrap.servers" which has no default value.'
            )
        addresses = tuple(_address(each.strip()) for each in text.split(",") if each.strip())
        if not addresses:
            raise no_client("No resolvable bootstrap urls given in bootstrap.servers")
        return addresses


def _address(text: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(text)
    if match is None or not match[1]:
        raise no_client(f"Invalid url in bootstrap.servers: {text}")
    port = int(match[2])
    if port > 0xFFFF:
        raise no_client(f"Invalid port in bootstrap.servers: {text}")
    return match[1], port


def no_client(reason: str) -> JavaError:
    """Return the error of a client that cannot be made, with the reason as its cause."""
    error = kafka_error("Failed to create new KafkaAdminClient")
    error.__cause__ = config_error(reason)
    return error


def read_command_config(path: str) -> dict[str, str]:
    """Return the properties in a `--command-config` file.

    Raises:
        JavaError: the file cannot be read (`NoSuchFileException`, whose message is the path), or is not a
            properties file.
    """
    from kcompat.config.properties import read_properties  # late: most calls have no file

    file = Path(path)
    if not file.exists():
        raise JavaError("NoSuchFileException", path, package="java.nio.file.")
    try:
        return read_properties(file)
    except ConfigError as error:
        raise config_error(f"{error}") from None
