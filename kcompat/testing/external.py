"""A broker that was not started by the tests, used instead of an embedded one."""

from __future__ import annotations

from typing import Final

from kcompat.errors import UsageError
from kcompat.security.client_settings import SETTINGS, ClientAccess


class ExternalBroker:
    """A running broker of any kind at a given address: the value of `kafka_broker` with `--kcompat-external`.

    It has the addresses of `kcompat.Broker` and its `client_config`. Any other attribute raises UsageError,
    since only a broker of kcompat has it.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        """`bootstrap_servers` is a host and a port, or several that are separated by commas."""
        self.bootstrap_servers: Final = bootstrap_servers
        host, _, port = bootstrap_servers.split(",")[0].strip().rpartition(":")
        self.host: Final = host.strip("[]")
        self.port: Final = int(port)

    def client_config(
        self,
        user: str | None = None,
        *,
        library: str = "confluent",
        mechanism: str = "PLAIN",  # noqa: ARG002 - as for `Broker`
    ) -> dict[str, object]:
        """Return the settings with which a client of a library connects, as `Broker.client_config` does.

        Raises:
            UsageError: the library is not known, or a user is named, whose password only kcompat knows.
        """
        if user is not None:
            raise UsageError(
                f"the broker at {self.bootstrap_servers} was not started by the tests, so the password of "
                f"{user!r} is not known: set the client's login yourself"
            )
        if library not in SETTINGS:
            raise UsageError(f"the settings of {library!r} are not known: use one of {', '.join(SETTINGS)}")
        return SETTINGS[library](ClientAccess(self.bootstrap_servers, "PLAINTEXT"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.bootstrap_servers}>"

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise UsageError(
            f"the broker at {self.bootstrap_servers} has no {name!r}, which only a kcompat.Broker has: run "
            f"this test without --kcompat-external, or skip it if the broker is an ExternalBroker"
        )
