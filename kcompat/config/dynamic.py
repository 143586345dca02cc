"""AlterConfigs and IncrementalAlterConfigs as pure functions that return the configs to store or a refusal.

Codes and messages are those of Kafka 3.9; if its two metadata modes differ, those of KRaft.
"""

from __future__ import annotations

from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.config.errors import ConfigError, RequirementError
from kcompat.config.group import check_group_overrides, group_row
from kcompat.config.java_text import split_list, trim
from kcompat.config.keys import Scope
from kcompat.config.table import BROKER_KEYS, TOPIC_KEYS, broker_key, without_listener_prefix
from kcompat.config.topic import check_topic_overrides
from kcompat.config.types import ConfigType, format_value
from kcompat.config.unenforced import refuse_unenforced
from kcompat.protocol.errors import ErrorCode
from kcompat.topics import name_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kcompat.config.broker import BrokerConfig, Guard
    from kcompat.config.keys import ConfigKey


class ConfigOperation(IntEnum):
    """An operation on the value of a key (KIP-339, Kafka's `AlterConfigOp.OpType`)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


CONFIG_OPERATIONS = frozenset(map(int, ConfigOperation))


class Alteration(Struct, frozen=True):
    """A change of one config: a key, the number of a `ConfigOperation`, which may be unknown, and a value."""

    name: str
    operation: int
    value: str | None


class ConfigChange(Struct, frozen=True):
    """The result of a request: all configs to store, or the reason of a refusal."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    configs: Mapping[str, str] = {}


def replace_all(values: Iterable[tuple[str, str | None]]) -> list[Alteration]:
    """Return the elements of an AlterConfigs request, which replaces all earlier overrides."""
    return [Alteration(name, ConfigOperation.SET, value) for name, value in values]


def change_topic(
    config: BrokerConfig, name: str, current: Mapping[str, str], alterations: Sequence[Alteration]
) -> ConfigChange:
    """Return the new overrides of a topic, or a refusal.

    The caller checks afterwards whether the topic exists. `current` has the present overrides, or none if all
    of them are to be replaced.
    """
    return _change(current, alterations, TOPIC_KEYS.get, partial(_check_topic, config, name))


def change_group(
    config: BrokerConfig, group_id: str, current: Mapping[str, str], alterations: Sequence[Alteration]
) -> ConfigChange:
    """Return the new configs of a group, which may be new, or a refusal. `current` as for `change_topic`."""
    return _change(current, alterations, group_row, partial(_check_group, config, group_id))


def _change(
    current: Mapping[str, str],
    alterations: Sequence[Alteration],
    lookup: Callable[[str], ConfigKey | None],
    check: Callable[[Mapping[str, str]], ConfigChange | None],
) -> ConfigChange:
    """Apply `alterations` to `current`, and return the configs to store or the first refusal.

    `check` judges the result as a whole; None means that it is allowed.
    """
    refusal = check_form(alterations)
    if refusal is not None:
        return refusal
    if any(alteration.operation not in CONFIG_OPERATIONS for alteration in alterations):
        return ConfigChange(ErrorCode.UNKNOWN_SERVER_ERROR)
    try:
        configs = _apply(current, alterations, lookup, _list_refusal)
        return check(configs) or ConfigChange(configs=configs)
    except ConfigError as error:
        return ConfigChange(ErrorCode.INVALID_CONFIG, str(error))


def _check_topic(config: BrokerConfig, name: str, configs: Mapping[str, str]) -> ConfigChange | None:
    if not name:
        return ConfigChange(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    problem = name_problem(name)
    if problem is not None:
        return ConfigChange(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
    check_topic_overrides(configs, config)
    return None


def _check_group(config: BrokerConfig, group_id: str, configs: Mapping[str, str]) -> ConfigChange | None:
    if not group_id:
        return ConfigChange(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    check_group_overrides(configs, config)
    return None


def change_broker(
    config: BrokerConfig,
    current: Mapping[str, str],
    alterations: Sequence[Alteration],
    *,
    cluster_default: bool,
    check: Guard | None = None,
) -> ConfigChange:
    """Return the new dynamic values of this broker, or with `cluster_default` of all brokers, or a refusal.

    `current` as for `change_topic`; `check` is `ConfigFeed.check`.
    """
    refusal = check_form(alterations)
    if refusal is not None:
        return refusal
    unknown = [
        alteration.operation for alteration in alterations if alteration.operation not in CONFIG_OPERATIONS
    ]
    if unknown:
        return ConfigChange(ErrorCode.INVALID_REQUEST, f"Unknown operations type {unknown[0]}")
    try:
        configs = _apply(current, alterations, broker_key, _broker_list_refusal)
    except ConfigError as error:
        return ConfigChange(ErrorCode.INVALID_CONFIG, str(error))
    try:
        changed = _check_broker_values(config, configs, cluster_default=cluster_default)
        altered = {name: text for name, text in configs.items() if current.get(name) != text}
        refuse_unenforced(altered)
        _refuse_secrets(altered)
        if check is not None:
            check(changed, {alteration.name for alteration in alterations})
    except RequirementError as error:
        return ConfigChange(ErrorCode.INVALID_REQUEST, f"requirement failed: {error}")
    except ConfigError as error:
        return ConfigChange(ErrorCode.INVALID_REQUEST, str(error))
    return ConfigChange(configs=configs)


def check_form(alterations: Sequence[Alteration]) -> ConfigChange | None:
    """Refuse a key that appears twice, and a missing value where one is needed."""
    names = [alteration.name for alteration in alterations]
    if len(set(names)) < len(names):
        return ConfigChange(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [
        alteration.name
        for alteration in alterations
        if alteration.value is None and alteration.operation != ConfigOperation.DELETE
    ]
    if nulls:
        return ConfigChange(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    return None


def _apply(
    current: Mapping[str, str],
    alterations: Sequence[Alteration],
    lookup: Callable[[str], ConfigKey | None],
    refusal: Callable[[ConfigOperation, str], str],
) -> dict[str, str]:
    configs = dict(current)
    for alteration in alterations:
        name, operation = alteration.name, ConfigOperation(alteration.operation)
        if operation is ConfigOperation.DELETE:
            configs.pop(name, None)
            continue
        assert alteration.value is not None, "checked by check_form"
        if operation is ConfigOperation.SET:
            configs[name] = alteration.value
            continue
        key = lookup(name)
        if key is None or key.type is not ConfigType.LIST:
            raise ConfigError(refusal(operation, name))
        configs[name] = _changed_list(configs.get(name, key.default), operation, alteration.value)
    return configs


def _changed_list(text: str | None, operation: ConfigOperation, argument: str) -> str:
    """Return a list with elements added once, or removed; the list is Kafka's default if it is unset."""
    items = split_list(trim(text or ""))
    changed = split_list(trim(argument))
    if operation is ConfigOperation.APPEND:
        items += [item for item in dict.fromkeys(changed) if item not in items]
    else:
        items = [item for item in items if item not in changed]
    return format_value(items) or ""


def _list_refusal(operation: ConfigOperation, name: str) -> str:
    return f"Can't {operation.name} to key {name} because its type is not LIST."


def _broker_list_refusal(operation: ConfigOperation, name: str) -> str:
    return f"Config value {operation.name.lower()} is not allowed for config key: {name}"


def _check_broker_values(
    config: BrokerConfig, configs: Mapping[str, str], *, cluster_default: bool
) -> BrokerConfig:
    """Check new dynamic values: scopes, then each value, then all together (`DynamicBrokerConfig.validate`).
    Return the configuration that has them.

    Raises:
        ConfigError: the first broken rule.
    """
    _refuse("Cannot update these configs dynamically", [
        name for name in configs if name in BROKER_KEYS and not BROKER_KEYS[name].is_dynamic
    ])  # fmt: skip
    _refuse(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        [name for name in configs if name in BROKER_KEYS and BROKER_KEYS[name].scope is Scope.PER_LISTENER],
        always_hash_set=True,
    )
    for name, text in configs.items():
        key = broker_key(name)
        if key is not None:
            key.parse(text)
    if cluster_default:
        _refuse("Cannot update these configs at default cluster level, broker id must be specified", [
            name for name in configs if _is_per_broker(name)
        ])  # fmt: skip
        changed = config.with_dynamic(config.dynamic, configs)
    else:
        changed = config.with_dynamic(configs, config.dynamic_default)
    _check_thread_counts(config, changed)
    _check_unchanged(config, configs)
    if (changed.listeners, changed.advertised) != (config.listeners, config.advertised):
        raise ConfigError(
            "Listeners cannot be changed while this broker runs; change its properties and start it again"
        )
    return changed


def _refuse_secrets(names: Iterable[str]) -> None:
    for name in names:
        key = broker_key(name)
        if key is not None and key.type is ConfigType.PASSWORD:
            raise ConfigError(
                f"{name} is a secret, and no secret is stored: set it in the broker's properties"
            )


_READ_AT_THE_START = frozenset(
    {
        "allow.everyone.if.no.acl.found",
        "connection.failed.authentication.delay.ms",
        "connections.max.reauth.ms",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.server.max.receive.size",
        "super.users",
    }
)
"""Keys of logins and of the authorizer, which in Kafka too cannot change after the start."""


def _check_unchanged(config: BrokerConfig, configs: Mapping[str, str]) -> None:
    """Raise ConfigError if a key that is read at the start gets another value."""
    for name, text in configs.items():
        present = config.given.get(name, BROKER_KEYS[name].default if name in BROKER_KEYS else None)
        if (without_listener_prefix(name) or name) in _READ_AT_THE_START and present != text:
            raise ConfigError(
                f"{name} cannot be changed while this broker runs; change its properties and start it again"
            )


def _is_per_broker(name: str) -> bool:
    base = without_listener_prefix(name)
    key = BROKER_KEYS.get(base or name)
    if key is None:
        return base is not None
    return key.scope in (Scope.PER_BROKER, Scope.PER_LISTENER)


def _refuse(message: str, names: Sequence[str], *, always_hash_set: bool = False) -> None:
    """Raise ConfigError with the names of the refused keys, if any.

    The names are listed in the order in which Scala prints a set, because Kafka's messages are.
    """
    if names:
        kind = "HashSet" if always_hash_set or len(names) > _SMALL_SET else "Set"
        raise ConfigError(f"{message}: {kind}({', '.join(names)})")


_SMALL_SET = 4

_THREAD_COUNTS = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)


def _check_thread_counts(config: BrokerConfig, changed: BrokerConfig) -> None:
    """Raise ConfigError if a thread count changes to more than double or less than half."""
    for name in _THREAD_COUNTS:
        old, new = config.integer(name), changed.integer(name)
        if new > 2 * old:
            bound = "should not be greater than double"
        elif new < old // 2:
            bound = "should be at least half"
        else:
            continue
        raise ConfigError(
            f"Dynamic thread count update validation failed for {name}={new}, "
            f"value {bound} the current value {old}"
        )
