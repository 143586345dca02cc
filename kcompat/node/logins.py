"""The logins that the SASL listeners of a broker offer, and the gates at which clients log in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from kcompat.api.authentication import LoginGate, LoginSettings
from kcompat.errors import ConfigError
from kcompat.node.sasl_mechanisms import MECHANISMS
from kcompat.security.credentials import SCRAM_MECHANISMS
from kcompat.security.sasl.exchange import OfferedMechanism

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.api.context import Services
    from kcompat.config.broker import BrokerConfig
    from kcompat.net.answers import FrameHandler
    from kcompat.node.lifetime import Lifetime
    from kcompat.node.sasl_mechanisms import Make

    Logins: TypeAlias = Mapping[str, Mapping[str, Make]]
    """By name of a SASL listener, and by name of a mechanism that it offers, the function that makes the
    mechanism. Logins depend only on the configuration, and are kept when the broker restarts in place.
    """

UNLIMITED: Final = -1
"""Value of `sasl.server.max.receive.size` with which a login has no limit of its own."""


def prepare_logins(config: BrokerConfig) -> Logins:
    """Return the logins that the SASL listeners offer.

    Raises:
        ConfigError: a mechanism of a listener is unknown, none is enabled, or a setting of one is missing.
    """
    return {
        endpoint.name: _prepared(config, endpoint.name) for endpoint in config.listeners if endpoint.uses_sasl
    }


def _prepared(config: BrokerConfig, listener: str) -> dict[str, Make]:
    enabled = config.get_at(listener, "sasl.enabled.mechanisms")
    assert isinstance(enabled, list)
    unknown = [name for name in enabled if name not in MECHANISMS]
    if unknown or not enabled:
        reason = f"offers {unknown[0]}, which kcompat does not support" if unknown else "offers no mechanism"
        raise ConfigError(
            f"SASL listener {listener} {reason}: set "
            f"listener.name.{listener.lower()}.sasl.enabled.mechanisms to some of {', '.join(MECHANISMS)}"
        )
    return {name: MECHANISMS[name].prepare(config, listener) for name in enabled}


def offers_scram(logins: Logins) -> bool:
    """Return whether clients can log in by SCRAM at some listener."""
    names = {mechanism.name for mechanism in SCRAM_MECHANISMS}
    return any(not names.isdisjoint(offered) for offered in logins.values())


def login_gates(
    config: BrokerConfig, logins: Logins, services: Services, dispatcher: FrameHandler, lifetime: Lifetime
) -> dict[str, FrameHandler]:
    """Return the gate of each SASL listener, by name of the listener."""
    gates: dict[str, FrameHandler] = {}
    for listener, mechanisms in logins.items():
        offered = {
            name: OfferedMechanism(
                make(services, lifetime), _number_of(config, listener, name, "connections.max.reauth.ms")
            )
            for name, make in mechanisms.items()
        }
        max_frame = _largest_frame(config, listener)
        delay_ms = config.integer_at(listener, "connection.failed.authentication.delay.ms")
        gates[listener] = LoginGate(LoginSettings(offered, max_frame, delay_ms), services, dispatcher)
    return gates


def _largest_frame(config: BrokerConfig, listener: str) -> int:
    """Return the bytes of the largest frame that a listener takes before the login is complete.

    -1 is Kafka's `NetworkReceive.UNLIMITED`; any other negative size refuses every frame.
    """
    size = config.integer_at(listener, "sasl.server.max.receive.size")
    return config.integer("socket.request.max.bytes") if size == UNLIMITED else max(0, size)


def _number_of(config: BrokerConfig, listener: str, mechanism: str, name: str) -> int:
    value = config.get_of(listener, mechanism, name)
    assert isinstance(value, int)
    return value
