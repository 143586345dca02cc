"""The SASL mechanisms that the listeners of a broker offer, and the gates at which clients log in.

`MECHANISMS` is the table of the mechanisms: adding one is one line here and one file in `security.sasl`.
"""

from __future__ import annotations

import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from kcompat.config.table import mechanism_key
from kcompat.errors import ConfigError
from kcompat.security.credentials import SCRAM_MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.api.context import Services
    from kcompat.config.broker import BrokerConfig
    from kcompat.net.answers import FrameHandler
    from kcompat.node.lifetime import Lifetime
    from kcompat.security.credentials import ScramMechanism
    from kcompat.security.sasl.jaas import JaasLogin
    from kcompat.security.sasl.mechanism import Mechanism

    Make: TypeAlias = Callable[[Services, Lifetime], Mechanism]
    """A function that makes a mechanism once the parts of the broker exist. What it starts ends with the
    lifetime."""


_log = logging.getLogger(__name__)

UNLIMITED: Final = -1
"""Value of `sasl.server.max.receive.size` with which a login has no limit of its own."""


class Prepare(Protocol):
    """A function that reads what the configuration says about a mechanism of a listener."""

    def __call__(self, config: BrokerConfig, listener: str, /) -> Make:
        """Return the function that makes the mechanism.

        Raises:
            ConfigError: the configuration does not say what the mechanism needs, with the setting to add.
        """


def _plain(config: BrokerConfig, listener: str) -> Make:
    # Late: the digests of this module load OpenSSL.
    from kcompat.security.sasl.plain import LOGIN_MODULE, USER_OPTION, Plain

    login = jaas_login(config, listener, "PLAIN", LOGIN_MODULE, 'user_alice="secret"')
    mechanism = Plain.from_options(login.options)

    def make(_services: Services, _lifetime: Lifetime) -> Mechanism:
        if not any(name.startswith(USER_OPTION) for name in login.options):
            # Kafka starts with such a line too.
            _log.warning(
                'Listener %s: nobody can log in by PLAIN: name users in %s, as in user_alice="secret"',
                listener,
                mechanism_key(listener, "PLAIN", "sasl.jaas.config"),
            )
        return mechanism

    return make


def _oauthbearer(config: BrokerConfig, listener: str) -> Make:
    from kcompat.node.bearer_logins import token_validator
    from kcompat.security.login_lines import BEARER_MODULE
    from kcompat.security.sasl.oauthbearer import OAUTHBEARER, OAuthBearer

    login = jaas_login(config, listener, OAUTHBEARER, BEARER_MODULE)
    validator = token_validator(config, listener, login.options)
    return lambda services, lifetime: OAuthBearer(validator(services.server.clock, lifetime))


def _scram(mechanism: ScramMechanism) -> Prepare:
    def prepare(config: BrokerConfig, listener: str) -> Make:
        from kcompat.security.sasl.scram import LOGIN_MODULE, Scram  # late: it loads OpenSSL

        if mechanism_key(listener, mechanism.name, "sasl.jaas.config") in config.given:
            jaas_login(config, listener, mechanism.name, LOGIN_MODULE)

        def make(services: Services, _lifetime: Lifetime) -> Scram:
            cluster = services.cluster
            return Scram(mechanism, cluster.scram_users, cluster.tokens, lambda: cluster.decoy_key.value)

        return make

    return prepare


MECHANISMS: Final[Mapping[str, Prepare]] = MappingProxyType(
    {
        "PLAIN": _plain,
        **{mechanism.name: _scram(mechanism) for mechanism in SCRAM_MECHANISMS},
        "OAUTHBEARER": _oauthbearer,
    }
)
"""The mechanisms of this broker, by name."""


def offers_scram(config: BrokerConfig) -> bool:
    """Return whether clients can log in by SCRAM at some listener."""
    names = {mechanism.name for mechanism in SCRAM_MECHANISMS}
    return any(
        endpoint.uses_sasl and not names.isdisjoint(_enabled(config, endpoint.name))
        for endpoint in config.listeners
    )


def _enabled(config: BrokerConfig, listener: str) -> list[str]:
    enabled = config.get_at(listener, "sasl.enabled.mechanisms")
    assert isinstance(enabled, list)
    return enabled


def jaas_login(
    config: BrokerConfig, listener: str, mechanism: str, module: str, options: str = ""
) -> JaasLogin:
    """Return the login of the JAAS line of a mechanism of a listener, which needs this login module.

    Raises:
        ConfigError: there is no such line, or it is malformed or names another module. The message has the
            setting to add, with `options` as an example of those it may have.
    """
    from kcompat.security.sasl.jaas import parse_jaas  # late: most brokers have no such line

    setting = mechanism_key(listener, mechanism, "sasl.jaas.config")
    line = config.given.get(setting)
    if line is None:
        example = " ".join((module, "required", options)).rstrip()
        raise ConfigError(
            f"Listener {listener} offers {mechanism} and has no JAAS line: set {setting}={example};"
        )
    try:
        login = parse_jaas(line)
    except ConfigError as error:
        raise ConfigError(f"{setting} {error}") from None
    if login.module != module:
        raise ConfigError(f"{setting} does not name the login module {module}, which {mechanism} needs")
    return login


def prepare_logins(config: BrokerConfig, listener: str) -> dict[str, Make]:
    """Return the functions that make the mechanisms that a SASL listener offers, by name.

    Raises:
        ConfigError: a mechanism is unknown, none is enabled, or one misses a setting.
    """
    enabled = _enabled(config, listener)
    unknown = [name for name in enabled if name not in MECHANISMS]
    if unknown or not enabled:
        reason = f"offers {unknown[0]}, which kcompat does not support" if unknown else "offers no mechanism"
        raise ConfigError(
            f"SASL listener {listener} {reason}: set "
            f"listener.name.{listener.lower()}.sasl.enabled.mechanisms to some of {', '.join(MECHANISMS)}"
        )
    return {name: MECHANISMS[name](config, listener) for name in enabled}


def check_listeners(config: BrokerConfig) -> None:
    """Check that this broker can authenticate the clients of each listener as its protocol says.

    Raises:
        ConfigError: it cannot, with what to set.
    """
    for endpoint in config.listeners:
        if endpoint.uses_sasl:
            prepare_logins(config, endpoint.name)


def login_gates(
    config: BrokerConfig, services: Services, dispatcher: FrameHandler, lifetime: Lifetime
) -> dict[str, FrameHandler]:
    """Return the gate of each SASL listener, by name of the listener. Raises ConfigError."""
    names = [endpoint.name for endpoint in config.listeners if endpoint.uses_sasl]
    if not names:
        return {}
    from kcompat.api.authentication import LoginGate, LoginSettings  # late: only SASL listeners need them
    from kcompat.security.sasl.exchange import OfferedMechanism

    gates: dict[str, FrameHandler] = {}
    for listener in names:
        offered = {
            name: OfferedMechanism(
                make(services, lifetime), _number_of(config, listener, name, "connections.max.reauth.ms")
            )
            for name, make in prepare_logins(config, listener).items()
        }
        max_frame = _largest_frame(config, listener)
        delay_ms = config.integer_at(listener, "connection.failed.authentication.delay.ms")
        gates[listener] = LoginGate(LoginSettings(offered, max_frame, delay_ms), services, dispatcher)
    return gates


def _largest_frame(config: BrokerConfig, listener: str) -> int:
    """Return the bytes of the largest frame that a listener takes before the login is complete.

    -1 is Kafka's `NetworkReceive.UNLIMITED`; no frame is within another negative size.
    """
    size = config.integer_at(listener, "sasl.server.max.receive.size")
    return config.integer("socket.request.max.bytes") if size == UNLIMITED else max(0, size)


def _number_of(config: BrokerConfig, listener: str, mechanism: str, name: str) -> int:
    value = config.get_of(listener, mechanism, name)
    assert isinstance(value, int)
    return value
