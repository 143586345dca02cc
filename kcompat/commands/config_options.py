"""The command line of `kcompat configs`, and the entities that it names (`ConfigCommandOptions`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kcompat.admin.settings import read_command_config
from kcompat.commands.options import OptionParser, illegal

if TYPE_CHECKING:
    from kcompat.commands.options import Options

TYPES: Final = (
    "topics",
    "clients",
    "users",
    "brokers",
    "ips",
    "broker-loggers",
    "client-metrics",
    "groups",
)
FLAGS: Final = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "ip": "ips",
    "client-metrics": "client-metrics",
    "group": "groups",
}
DEFAULTS: Final = {
    "client-defaults": "clients",
    "user-defaults": "users",
    "broker-defaults": "brokers",
    "ip-defaults": "ips",
}
WITH_DEFAULT: Final = frozenset(("users", "clients", "brokers", "ips"))
_OUTSIDE_BRACKETS: Final = r"(?=[^\]]*(?:\[|$))"
_KEY: Final = re.compile(r"[a-zA-Z0-9._-]+")
_CONNECTIONS: Final = ("bootstrap-server", "bootstrap-controller", "zookeeper")


class Entities(Struct, frozen=True):
    """The entities that a command line names: their types and names, '' for the default entity."""

    types: list[str]
    names: list[str]

    @property
    def name(self) -> str:
        """The first name; '' for the default entity."""
        return self.names[0] if self.names else ""


def parser() -> OptionParser:
    """Return the parser of the command."""
    made = OptionParser(
        "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip or "
        "client-metrics"
    )
    made.accepts_connection()
    made.accepts_output()
    made.accepts("bootstrap-controller", "Controllers of a KRaft cluster.", "controller")
    made.accepts("zookeeper", "No longer supported.", "urls")
    made.accepts("alter", "Change configs.")
    made.accepts("describe", "Show configs.")
    made.accepts("all", "Show all configs, also those that are not set.")
    made.accepts("entity-type", f"Type of the entity: {', '.join(TYPES)}.", "type")
    made.accepts("entity-name", "Name of the entity.", "name")
    made.accepts("entity-default", "Instead of a name: the default of all clients, users, brokers or ips.")
    made.accepts("add-config", "Configs to set: 'k1=v1,k2=[v1,v2,v2],k3=v3'.", "configs")
    made.accepts("add-config-file", "Properties file with configs to set.", "file")
    made.accepts("delete-config", "Configs to remove: 'k1,k2'.", "names")
    made.accepts("force", "Suppress console prompts.")
    for flag, kind in FLAGS.items():
        made.accepts(flag, f"Short for --entity-type {kind} --entity-name <name>.", "name")
    for flag, kind in DEFAULTS.items():
        made.accepts(flag, f"Short for --entity-type {kind} --entity-default.")
    return made


def entities_of(options: Options) -> Entities:
    """Return the entities that the options name."""
    types = options.values("entity-type") + [
        kind for flag, kind in (FLAGS | DEFAULTS).items() if options.has(flag)
    ]
    given = iter(options.values("entity-name"))
    names = [
        next(given) if each == "entity-name" else ""
        for each in options.order
        if each in ("entity-name", "entity-default")
    ]
    names += [options.value(flag) for flag in FLAGS if options.has(flag)]
    names += ["" for flag in DEFAULTS if options.has(flag)]
    return Entities(types, names)


def check(options: Options) -> Entities:
    """Check that the options fit together, and return the entities that they name. Raises JavaError, or ends
    the command.
    """
    options.end_for_help()
    if options.has("alter") == options.has("describe"):
        options.parser.fail("Command must include exactly one action: --describe, --alter")
    options.forbid("describe", ("alter", "add-config", "delete-config"))
    entities = entities_of(options)
    _check_types(options, entities.types)
    by_type = any(map(options.has, ("entity-name", "entity-type", "entity-default")))
    if by_type and any(map(options.has, FLAGS | DEFAULTS)):
        raise illegal(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )
    _check_connection(options)
    _check_names(options, entities)
    if options.has("alter"):
        _check_alteration(options, entities)
    return entities


def _check_types(options: Options, types: list[str]) -> None:
    twice = [kind for n, kind in enumerate(types) if kind in types[:n]]
    if twice:
        raise illegal(f"Duplicate entity type(s) specified: {','.join(twice)}")
    to_broker = any(map(options.has, _CONNECTIONS[:2]))
    allowed = TYPES if to_broker else ("users", "brokers")
    for kind in types:
        if kind not in allowed:
            where = "--bootstrap-server or --bootstrap-controller" if to_broker else "--zookeeper"
            raise illegal(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(allowed)} with a "
                f"{where} argument"
            )
    if not types:
        raise illegal("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise illegal("Only 'users' and 'clients' entity types may be specified together")


def _check_connection(options: Options) -> None:
    given = sum(map(options.has, _CONNECTIONS))
    if given > 1:
        raise illegal("Only one of --bootstrap-server or --bootstrap-controller can be specified")
    if not given:
        raise illegal(
            "One of the required --bootstrap-server, --boostrap-controller, or --zookeeper arguments must be "
            "specified"
        )
    if options.has("zookeeper"):
        raise illegal("--zookeeper is no longer supported: use --bootstrap-server")


def _check_names(options: Options, entities: Entities) -> None:
    first = entities.types[0]
    if {"brokers", "broker-loggers"}.intersection(entities.types):
        for name in filter(None, entities.names):
            try:
                int(name)
            except ValueError:
                raise illegal(
                    f"The entity name for {first} must be a valid integer broker id, but it is: {name}"
                ) from None
    if "ips" in entities.types:
        for name in filter(None, entities.names):
            if not _is_host(name):
                raise illegal(
                    f"The entity name for {first} must be a valid IP or resolvable host, but it is: {name}"
                )
    if options.has("describe"):
        shown = ",".join(entities.types)
        if not WITH_DEFAULT.intersection(entities.types) and options.has("entity-default"):
            raise illegal(f"--entity-default must not be specified with --describe of {shown}")
        if "broker-loggers" in entities.types and not any(entities.names):
            raise illegal(f"an entity name must be specified with --describe of {shown}")


def _is_host(name: str) -> bool:
    import socket

    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):  # the latter of a name that cannot be one in DNS
        return False
    return True


def _check_alteration(options: Options, entities: Entities) -> None:
    if WITH_DEFAULT.intersection(entities.types):
        if not entities.names:
            raise illegal(
                "an entity-name or default entity must be specified with --alter of users, clients, brokers "
                "or ips"
            )
    elif not any(entities.names):
        raise illegal(f"an entity name must be specified with --alter of {','.join(entities.types)}")
    has_config, has_file = options.has("add-config"), options.has("add-config-file")
    if has_config and has_file:
        raise illegal("Only one of --add-config or --add-config-file must be specified")
    if not has_config and not has_file and not options.has("delete-config"):
        raise illegal(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with "
            "--alter"
        )


def added(options: Options) -> dict[str, str]:
    """Return the configs to set. Raises JavaError."""
    if options.has("add-config-file"):
        found = read_command_config(options.value("add-config-file"))
    elif options.has("add-config"):
        pairs = [
            re.split(rf"\s*=\s*{_OUTSIDE_BRACKETS}", part)
            for part in re.split(f",{_OUTSIDE_BRACKETS}", options.value("add-config"))
        ]
        if any(len(pair) != 2 for pair in pairs):
            raise illegal(
                "requirement failed: Invalid entity config: all configs to be added must be in the format "
                '"key=val".'
            )
        found = {key.strip(): re.sub(r"\[?\]?", "", value).strip() for key, value in pairs}
    else:
        return {}
    for key in found:
        _check_key(key)
    return found


def deleted(options: Options) -> list[str]:
    """Return the names of the configs to remove. Raises JavaError."""
    names = [each.strip() for text in options.values("delete-config") for each in text.split(",")]
    for name in names:
        _check_key(name)
    return names


def _check_key(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise illegal(f"Invalid character found for config key: {key}")
