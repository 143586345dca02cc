"""The SASL mechanisms of a broker on both sides: for clients that log in at its listeners, and for its own
logins at other brokers.

`MECHANISMS` is the table: adding one is one line here and one file in `security.sasl`.
"""

from __future__ import annotations

import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from msgspec import Struct

from kcompat.config.table import mechanism_key
from kcompat.errors import ConfigError
from kcompat.security.credentials import SCRAM_MECHANISMS
from kcompat.security.login_lines import LOGIN_MODULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.api.context import Services
    from kcompat.config.broker import BrokerConfig
    from kcompat.node.lifetime import Lifetime
    from kcompat.security.credentials import ScramMechanism
    from kcompat.security.sasl.jaas import JaasLogin
    from kcompat.security.sasl.mechanism import ClientMechanism, Mechanism

    Make: TypeAlias = Callable[[Services, Lifetime], Mechanism]
    """A function that makes a mechanism once the parts of the broker exist. Anything that the mechanism
    starts ends with the `Lifetime`.
    """

_log = logging.getLogger(__name__)


class Prepare(Protocol):
    """A function that reads the configuration of a mechanism of a listener."""

    def __call__(self, config: BrokerConfig, listener: str, /) -> Make:
        """Return the function that makes the mechanism.

        Raises:
            ConfigError: the configuration lacks a setting of the mechanism, which the message names.
        """


class MakeClient(Protocol):
    """A function that makes the client's side of a mechanism."""

    def __call__(self, config: BrokerConfig, listener: str, now_ms: Callable[[], int], /) -> ClientMechanism:
        """Return the mechanism with the credential of this broker.

        Raises:
            ConfigError: the configuration has none.
        """


class SaslMechanism(Struct, frozen=True):
    """Both sides of a mechanism."""

    prepare: Prepare
    """Reads the configuration for the side of the listeners."""
    client: MakeClient
    """Makes the client's side, with the credential of this broker."""


def _prepare_plain(config: BrokerConfig, listener: str) -> Make:
    # Late: the digests of this module load OpenSSL.
    from kcompat.security.sasl.plain import USER_OPTION, Plain

    login = _jaas_login(config, listener, "PLAIN", 'user_alice="secret"')
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


def _plain_client(config: BrokerConfig, listener: str, _now_ms: Callable[[], int]) -> ClientMechanism:
    from kcompat.security.sasl.plain import PlainClient  # late: it loads OpenSSL

    return PlainClient(*_password_of(config, listener, "PLAIN"))


def _prepare_scram(mechanism: ScramMechanism) -> Prepare:
    def prepare(config: BrokerConfig, listener: str) -> Make:
        from kcompat.security.sasl.scram import Scram  # late: it loads OpenSSL

        if mechanism_key(listener, mechanism.name, "sasl.jaas.config") in config.given:
            _jaas_login(config, listener, mechanism.name)

        def make(services: Services, _lifetime: Lifetime) -> Scram:
            cluster = services.cluster
            return Scram(mechanism, cluster.scram_users, cluster.tokens, lambda: cluster.decoy_key.value)

        return make

    return prepare


def _scram_client(mechanism: ScramMechanism) -> MakeClient:
    def make(config: BrokerConfig, listener: str, _now_ms: Callable[[], int]) -> ClientMechanism:
        from kcompat.security.sasl.scram_client import ScramClient  # late: it loads OpenSSL

        return ScramClient(mechanism, *_password_of(config, listener, mechanism.name))

    return make


def _prepare_oauthbearer(config: BrokerConfig, listener: str) -> Make:
    from kcompat.node.bearer_logins import token_validator
    from kcompat.security.sasl.oauthbearer import OAUTHBEARER, OAuthBearer

    login = _jaas_login(config, listener, OAUTHBEARER)
    validator = token_validator(config, listener, login.options)
    return lambda services, lifetime: OAuthBearer(validator(services.server.clock, lifetime))


def _oauthbearer_client(config: BrokerConfig, listener: str, now_ms: Callable[[], int]) -> ClientMechanism:
    from kcompat.node.bearer_logins import own_tokens
    from kcompat.security.sasl.oauthbearer import OAuthBearerClient

    options = _jaas_login(config, listener, "OAUTHBEARER").options
    return OAuthBearerClient(own_tokens(config, listener, options, now_ms))


MECHANISMS: Final[Mapping[str, SaslMechanism]] = MappingProxyType(
    {
        "PLAIN": SaslMechanism(_prepare_plain, _plain_client),
        **{each.name: SaslMechanism(_prepare_scram(each), _scram_client(each)) for each in SCRAM_MECHANISMS},
        "OAUTHBEARER": SaslMechanism(_prepare_oauthbearer, _oauthbearer_client),
    }
)
"""The mechanisms, by name."""


def _jaas_login(config: BrokerConfig, listener: str, mechanism: str, options: str = "") -> JaasLogin:
    """Return the login in the JAAS line of a listener's mechanism; the line must name this login module.

    Raises:
        ConfigError: there is no such line, or it is malformed or names another module. The message has the
            setting to add, with `options` as an example.
    """
    from kcompat.security.sasl.jaas import parse_jaas  # late: most brokers have no such line

    module, setting = LOGIN_MODULES[mechanism], mechanism_key(listener, mechanism, "sasl.jaas.config")
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


def _password_of(config: BrokerConfig, listener: str, mechanism: str) -> tuple[str, str]:
    """Return this broker's own name and password in a JAAS login."""
    options = _jaas_login(config, listener, mechanism).options
    name, password = options.get("username"), options.get("password")
    if not name or not password:
        raise ConfigError(
            f"{mechanism_key(listener, mechanism, 'sasl.jaas.config')} lacks the name and the password by "
            "which this broker logs in to others: add username=... password=... to it"
        )
    return name, password
