"""The broker's configuration as immutable, typed snapshots, and the feed of the current snapshot."""

from __future__ import annotations

import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from kcompat.config import checks
from kcompat.config.attributes import BrokerKeys
from kcompat.config.errors import ConfigError
from kcompat.config.java_text import split_list, trim
from kcompat.config.keys import ConfigKey, Effect
from kcompat.config.known import is_known
from kcompat.config.listeners import check_inter_broker_name, read_listeners
from kcompat.config.table import (
    BROKER_KEYS,
    DYNAMIC_ONLY_KEYS,
    broker_key,
    broker_synonyms,
    listener_in,
    mechanism_key,
)
from kcompat.config.unenforced import refusal_of, refuse_unenforced

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from os import PathLike

    from kcompat.config.types import Value

    Guard: TypeAlias = "Callable[[BrokerConfig, Collection[str]], object]"

logger = logging.getLogger(__name__)

_NONE: Mapping[str, str] = MappingProxyType({})

BEST_SEND_BUFFER = 256 * 1024
"""Default size of a send buffer in bytes. A larger one, as systems choose automatically, does not fit into
the processor's cache and halves the speed of large fetches."""

LONG_BACKLOG = 4096
"""Default number of connections that may wait to be accepted. If hundreds of clients connect at once, one
that finds no room tries again a second later. The system's limit may be lower."""


class BrokerConfig(BrokerKeys):
    """The value of every broker key: dynamic for this broker, else for all brokers, else static, else
    default.

    `static` has the texts that the operator gave (file, environment, command line); `dynamic` and
    `dynamic_default` those stored for this broker and for all brokers. A snapshot never changes:
    `with_dynamic` makes the next one. The keys that the broker uses are attributes, see `BrokerKeys`; all
    others are reached by name.

    Raises:
        ConfigError: a value is not allowed, alone or together with others, or a static value asks for a
            feature that this broker does not have. Such dynamic values are refused where they are set.
    """

    __slots__ = ("_given", "_values", "advertised", "dynamic", "dynamic_default", "listeners", "static")

    def __init__(
        self,
        static: Mapping[str, str] = _NONE,
        *,
        dynamic: Mapping[str, str] = _NONE,
        dynamic_default: Mapping[str, str] = _NONE,
    ) -> None:
        self.static = MappingProxyType(_with_both_ids(static))
        self.dynamic = MappingProxyType(dict(dynamic))
        self.dynamic_default = MappingProxyType(dict(dynamic_default))
        self._given = _overlay(self.static, self.dynamic_default, self.dynamic)
        self._values: dict[str, Value] = {}
        for name, text in self._given.items():
            key = broker_key(name)
            if key is not None:
                self._values[name] = key.parse(text)
        refuse_unenforced(self.static)
        checks.check_broker(self)
        self.listeners, advertised = read_listeners(
            self.string("listeners"),
            self.string("advertised.listeners"),
            self.string("listener.security.protocol.map"),
            self.string("controller.listener.names"),
        )
        self.advertised = MappingProxyType({endpoint.name: endpoint for endpoint in advertised})
        """Advertised endpoints by the name of the listener. Clients of a listener without one are told the
        address that they connected to."""
        check_inter_broker_name(self.string("inter.broker.listener.name"), self.listeners)

    def with_dynamic(self, dynamic: Mapping[str, str], dynamic_default: Mapping[str, str]) -> BrokerConfig:
        """Return this configuration with other dynamic values.

        Raises:
            ConfigError: as for the constructor.
        """
        return BrokerConfig(self.static, dynamic=dynamic, dynamic_default=dynamic_default)

    def with_stored(self, dynamic: Mapping[str, str], dynamic_default: Mapping[str, str]) -> BrokerConfig:
        """Return this configuration with other dynamic values, or with none if they contradict the static
        ones.

        The values were checked when they were stored; the static properties may have changed since.
        """
        try:
            return self.with_dynamic(dynamic, dynamic_default)
        except ConfigError as error:
            logger.warning("Stored dynamic configurations are ignored: %s", error)
            return self.with_dynamic({}, {})

    def with_static(self, changes: Mapping[str, str]) -> BrokerConfig:
        """Return this configuration with some static texts replaced, such as the broker id once it is known.

        Raises:
            ConfigError: as for the constructor.
        """
        static = {**self.static, **changes}
        for one, other in (("broker.id", "node.id"), ("node.id", "broker.id")):
            if one in changes and other not in changes:
                static[other] = changes[one]
        return BrokerConfig(static, dynamic=self.dynamic, dynamic_default=self.dynamic_default)

    def get(self, name: str) -> Value:
        """Return the typed value of a key of the table; None if it is unset and has no default.

        Raises:
            KeyError: the table has no such key, which is a fault of the caller.
        """
        try:
            return self._values[name]
        except KeyError:
            key = BROKER_KEYS.get(name) or DYNAMIC_ONLY_KEYS[name]
            value = self._values[name] = key.default_value
            return value

    def get_at(self, listener: str, name: str) -> Value:
        """Return the typed value of a key for one listener: that of `listener.name.<listener>.<name>` if it
        is set, else that of the key itself.

        Raises:
            KeyError: the table has no such key, which is a fault of the caller.
        """
        prefixed = f"listener.name.{listener.lower()}.{name}"
        return self._values[prefixed] if prefixed in self._values else self.get(name)

    def integer_at(self, listener: str, name: str) -> int:
        """Return the value of an INT, SHORT or LONG key for one listener (see `get_at`)."""
        value = self.get_at(listener, name)
        assert isinstance(value, int), name
        return value

    def get_of(self, listener: str, mechanism: str, name: str) -> Value:
        """Return the typed value of a key for one SASL mechanism of one listener: that of
        `listener.name.<listener>.<mechanism>.<name>` if it is set, else that of `get_at`.

        Raises:
            KeyError: the table has no such key, which is a fault of the caller.
        """
        return self._values.get(mechanism_key(listener, mechanism, name), self.get_at(listener, name))

    @property
    def socket_buffers(self) -> tuple[int, int]:
        """Bytes of the receive and the send buffer of client sockets; with -1 the system chooses."""
        receive = self.socket_receive_buffer_bytes if "socket.receive.buffer.bytes" in self._given else -1
        is_set = "socket.send.buffer.bytes" in self._given
        return receive, self.socket_send_buffer_bytes if is_set else BEST_SEND_BUFFER

    @property
    def listen_backlog(self) -> int:
        """Number of connections that may wait to be accepted at a listener."""
        return (
            self.socket_listen_backlog_size if "socket.listen.backlog.size" in self._given else LONG_BACKLOG
        )

    @property
    def given(self) -> Mapping[str, str]:
        """The texts of all keys that were set, unknown keys included."""
        return self._given

    @property
    def unknown_keys(self) -> list[str]:
        """Keys that were set but exist in no Kafka version, sorted; each deserves a warning."""
        return sorted(name for name in self.static if not is_known(name))

    @property
    def keys_of_absent_listeners(self) -> list[str]:
        """Keys that were set for a listener that `listeners` does not have, sorted; each deserves a warning.

        Kafka looks for the name of the listener in lower case.
        """
        controllers = split_list(self.string("controller.listener.names"))
        present = {name.lower() for name in (*(each.name for each in self.listeners), *controllers)}
        return sorted(name for name in self.static if listener_in(name) not in {None, *present})

    @property
    def unenforced(self) -> list[str]:
        """Sentences about stored dynamic values that this broker does not implement; a Kafka broker may have
        stored them.
        """
        stored = {**self.dynamic_default, **self.dynamic}
        refusals = (refusal_of(name, text) for name, text in sorted(stored.items()))
        return [refusal for refusal in refusals if refusal is not None]

    @property
    def ineffective_keys(self) -> list[ConfigKey]:
        """Keys that were set other than to their default but have no effect here, sorted; each deserves a
        line in the log.
        """
        keys = (broker_key(name) for name in sorted(self.static))
        return [
            key for key in keys
            if key is not None and key.effect is Effect.NONE and self.get(key.name) != key.default_value
        ]  # fmt: skip

    @property
    def broker_id(self) -> int:
        """The configured id of this broker; -1 if none is."""
        return self.integer("broker.id")

    @property
    def rack(self) -> str | None:
        """The value of `broker.rack`; None if it is unset."""
        return self.string("broker.rack") or None

    @property
    def ip_overrides(self) -> dict[str, int]:
        """The value of `max.connections.per.ip.overrides` by host."""
        return checks.parse_ip_overrides(self.string("max.connections.per.ip.overrides"))

    @property
    def inter_broker_listener(self) -> str:
        """Name of the listener that brokers use for each other."""
        return (
            self.string("inter.broker.listener.name") or self.string("security.inter.broker.protocol")
        ).upper()


class ConfigFeed:
    """The current configuration of a broker and its subscribers.

    `current` is replaced as a whole when dynamic configs change, so callers read it at each use.
    """

    __slots__ = ("_guards", "_listeners", "current")

    def __init__(self, config: BrokerConfig) -> None:
        self.current = config
        self._listeners: list[Callable[[BrokerConfig], object]] = []
        self._guards: list[Guard] = []

    def guard(self, check: Guard) -> None:
        """Have `check(config, altered)` called before a new configuration is stored. `check` raises
        ConfigError for a configuration that its part of the broker could not adopt; `altered` has the keys
        that a request sets or deletes.
        """
        self._guards.append(check)

    def check(self, config: BrokerConfig, altered: Collection[str]) -> None:
        """Raise ConfigError if a part of the broker could not adopt this configuration (see `guard`)."""
        for check in self._guards:
            check(config, altered)

    def subscribe(self, listener: Callable[[BrokerConfig], object]) -> None:
        """Call `listener(config)` each time `current` has been replaced."""
        self._listeners.append(listener)

    def replace(self, config: BrokerConfig) -> None:
        """Make `config` the current configuration and call the listeners in the order they subscribed."""
        self.current = config
        for listener in self._listeners:
            listener(config)


def as_log_dirs(directory: str | PathLike[str]) -> str:
    """Return the value of `log.dirs` that names this directory and no other.

    Raises:
        ConfigError: no value can name it.
    """
    text = str(directory)
    if not trim(text):
        raise ConfigError(f"The data directory {text!r} cannot be used: its name is empty")
    if text != trim(text):
        raise ConfigError(
            f"The data directory {text!r} cannot be used: log.dirs drops the space around a name"
        )
    if "," in text:
        raise ConfigError(
            f"The data directory {text!r} cannot be used: log.dirs takes a comma for the end of a name"
        )
    return text


def _with_both_ids(static: Mapping[str, str]) -> dict[str, str]:
    """Return the texts with `broker.id` and `node.id` set to the same number where one of them is set."""
    texts = dict(static)
    one, other = texts.get("broker.id"), texts.get("node.id")
    if one is not None and other is not None and _number_of("broker.id", one) != _number_of("node.id", other):
        raise ConfigError(f"broker.id={one} and node.id={other} must be the same number")
    if one is not None:
        texts["node.id"] = one
    elif other is not None:
        texts["broker.id"] = other
    return texts


def _number_of(name: str, text: str) -> Value:
    return BROKER_KEYS[name].parse(text)


def _overlay(static: Mapping[str, str], *layers: Mapping[str, str]) -> dict[str, str]:
    """Merge layers of texts; a key of a later layer hides its synonyms in earlier ones (Kafka's
    `overrideProps`).
    """
    texts = dict(static)
    for layer in layers:
        for name, text in layer.items():
            for synonym in (
                broker_synonyms(name) if broker_key(name) is not None and name in BROKER_KEYS else ()
            ):
                texts.pop(synonym, None)
            texts[name] = text
    return texts
