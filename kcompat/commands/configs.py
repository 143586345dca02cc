"""`kcompat configs`: show and change configs, quotas and SCRAM users.

Kafka's counterpart: `ConfigCommand`.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from kcompat.admin import topics
from kcompat.admin.configs import DELETE, SET, alter_configs, describe_configs, list_resources
from kcompat.admin.errors import JavaError
from kcompat.commands import config_options
from kcompat.commands.config_options import parser
from kcompat.commands.connecting import connect
from kcompat.commands.output import execution_error, print_json
from kcompat.protocol.constants import ConfigResourceType, ConfigSource
from kcompat.topics import name_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.admin.client import AdminClient
    from kcompat.admin.configs import ConfigEntry
    from kcompat.commands.config_options import Entities
    from kcompat.commands.options import Options

RESOURCES: Final = {
    "topics": (ConfigResourceType.TOPIC, ConfigSource.DYNAMIC_TOPIC_CONFIG),
    "brokers": (ConfigResourceType.BROKER, ConfigSource.DYNAMIC_BROKER_CONFIG),
    "broker-loggers": (ConfigResourceType.BROKER_LOGGER, None),
    "client-metrics": (ConfigResourceType.CLIENT_METRICS, ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG),
    "groups": (ConfigResourceType.GROUP, ConfigSource.DYNAMIC_GROUP_CONFIG),
}
"""Resource type of each entity type that has configs, and the source of the configs that are set."""

LONGEST_MS: Final = 30_000
"""Time in ms that the command waits for configs."""

_MESSAGE_ALONE: Final = ("IllegalArgumentException", "InvalidConfigurationException")
"""Errors of the command itself, for which only the message is printed, without the name of a Java class."""


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    try:
        options = parser().parse(words)
        entities = config_options.check(options)
        with connect(options, options.value("bootstrap-controller")) as admin:
            if options.has("describe"):
                _describe(admin, options, entities)
            else:
                _alter(admin, options, entities)
    except JavaError as error:
        is_own = error.code is None
        if is_own and (error.name in _MESSAGE_ALONE or error.package == "joptsimple."):
            sys.stderr.write(f"{error}\n")
        else:
            shown = _SECRET.sub(r"\1[hidden]", " ".join(words))
            printed = error if is_own else execution_error(error)
            sys.stderr.write(
                f"Error while executing config command with args '{shown}'\n{printed.logged()}\n"
            )
        return 1
    return 0


_SECRET: Final = re.compile(r"(password=)[^\],]*")
"""Part of the command line that errors do not repeat, unlike those of Kafka's command."""

# Showing


def _describe(admin: AdminClient, options: Options, entities: Entities) -> None:
    kind = entities.types[0]
    if kind not in RESOURCES:
        from kcompat.commands import quota_configs

        quota_configs.describe(admin, options, entities)
        return
    names = [entities.name] if entities.names else _all_names(admin, kind)
    describe_all = options.has("all")
    shown = []
    for name in names:
        if not options.json:
            sys.stdout.write(_headline(kind, name, describe_all))
        entries = _entries(admin, kind, name, describe_all=describe_all)
        if not options.json:
            sys.stdout.write("".join(map(_line, entries)))
        shown.append({"type": kind, "name": name or None, "configs": [_as_json(each) for each in entries]})
    if options.json:
        print_json(shown)


def _all_names(admin: AdminClient, kind: str) -> list[str]:
    match kind:
        case "topics":
            return topics.list_topics(admin)
        case "brokers" | "broker-loggers":
            return [*map(str, sorted(admin.cluster().nodes)), ""]
        case _:
            return list_resources(admin, RESOURCES[kind][0])


def _entries(
    admin: AdminClient, kind: str, name: str, *, describe_all: bool, synonyms: bool = True
) -> list[ConfigEntry]:
    """Return the configs of an entity, those that are set or all of them, by name."""
    problem = name_problem(name) if kind == "topics" else None
    if problem is not None:
        raise JavaError("InvalidTopicException", f"Topic name is invalid: {problem}")
    resource_type, source = RESOURCES[kind]
    if kind == "brokers" and not name:
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    found = describe_configs(admin, [(resource_type, name)], synonyms=synonyms, timeout_ms=LONGEST_MS)
    entries = found.get((resource_type, name), [])
    return sorted(
        (each for each in entries if describe_all or source is None or each.config_source == source),
        key=lambda each: each.name,
    )


def _headline(kind: str, name: str, describe_all: bool) -> str:
    if not name:
        return f"Default configs for {kind} in the cluster are:\n"
    return f"{'All' if describe_all else 'Dynamic'} configs for {kind[:-1]} {name} are:\n"


def _line(entry: ConfigEntry) -> str:
    synonyms = ", ".join(
        f"{_source(each.source)}:{each.name}={_value(each.value)}" for each in entry.synonyms
    )
    return (
        f"  {entry.name}={_value(entry.value)} sensitive={str(entry.is_sensitive).lower()} "
        f"synonyms={{{synonyms}}}\n"
    )


def _source(number: int) -> str:
    return _SOURCES.get(number, ConfigSource.UNKNOWN.name)


_SOURCES: Final = {int(each): each.name for each in ConfigSource}


def _value(text: str | None) -> str:
    return "null" if text is None else text


def _as_json(entry: ConfigEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "value": entry.value,
        "sensitive": entry.is_sensitive,
        "readOnly": entry.read_only,
        "source": _source(entry.config_source),
        "synonyms": [
            {"name": each.name, "value": each.value, "source": _source(each.source)}
            for each in entry.synonyms
        ],
    }


# Changing


def _alter(admin: AdminClient, options: Options, entities: Entities) -> None:
    kind, name = entities.types[0], entities.name
    added, deleted = config_options.added(options), config_options.deleted(options)
    if kind not in RESOURCES:
        from kcompat.commands import quota_configs

        quota_configs.alter(admin, entities, added, deleted)
    else:
        _check_known(admin, kind, name, added, deleted)
        changes: dict[str, tuple[int, str | None]] = {key: (SET, value) for key, value in added.items()}
        changes |= dict.fromkeys(deleted, (DELETE, ""))
        alter_configs(admin, (RESOURCES[kind][0], name), changes)
    if name:
        sys.stdout.write(f"Completed updating config for {kind[:-1]} {name}.\n")
    else:
        sys.stdout.write(f"Completed updating default config for {kind} in the cluster.\n")


def _check_known(admin: AdminClient, kind: str, name: str, added: dict[str, str], deleted: list[str]) -> None:
    """Raise JavaError for the removal of a config that is not set, and for a logger that is not there."""
    is_logger = kind == "broker-loggers"
    present = {each.name for each in _entries(admin, kind, name, describe_all=is_logger, synonyms=False)}
    unknown = [each for each in deleted if each not in present]
    if is_logger:
        unknown += [each for each in added if each not in present]
    if unknown:
        what = "broker logger(s)" if is_logger else "config(s)"
        raise JavaError("InvalidConfigurationException", f"Invalid {what}: {','.join(unknown)}")
