"""Quotas and SCRAM users of `kcompat configs`."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final

from kcompat.admin.errors import JavaError
from kcompat.admin.quotas import (
    Component,
    QuotaEntry,
    alter_quotas,
    alter_scram_user,
    describe_quotas,
    describe_scram_users,
)
from kcompat.commands.options import illegal
from kcompat.commands.output import print_json
from kcompat.config.java_text import java_double, parse_double
from kcompat.security.credentials import MIN_ITERATIONS, SCRAM_MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcompat.admin.client import AdminClient
    from kcompat.commands.config_options import Entities
    from kcompat.commands.options import Options
    from kcompat.security.credentials import ScramMechanism

QUOTAS: Final = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
IP_QUOTAS: Final = ("connection_creation_rate",)
_ENTITIES: Final = {"users": "user", "clients": "client-id", "ips": "ip"}
_SHOWN: Final = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
_MECHANISMS: Final = {each.name: each for each in SCRAM_MECHANISMS}
_CREDENTIAL: Final = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)")


# Showing


def describe(admin: AdminClient, options: Options, entities: Entities) -> None:
    """Print the quotas of users, clients or addresses, and the SCRAM users."""
    quotas = describe_quotas(admin, _components(entities))
    users: Mapping[str, list[tuple[str, int]] | JavaError] = {}
    if not {"clients", "ips"}.intersection(entities.types) and "" not in entities.names:
        users = describe_scram_users(admin, entities.names)
    if options.json:
        print_json(
            {
                "quotas": [{"entity": each.entity, "quotas": each.values} for each in quotas],
                "scramUsers": [_user_as_json(user, found) for user, found in users.items()],
            }
        )
        return
    for entry in quotas:
        values = ", ".join(f"{key}={java_double(value)}" for key, value in entry.values.items())
        sys.stdout.write(f"Quota configs for {_entity(entry)} are {values}\n")
    for user, found in users.items():
        sys.stdout.write(_credentials(user, found))


def _components(entities: Entities) -> list[Component]:
    if len(entities.names) > len(entities.types):
        raise illegal("More entity names specified than entity types")
    found = []
    for n, kind in enumerate(entities.types):
        if n < len(entities.names):
            found.append(Component(_ENTITIES[kind], entities.names[n] or None))
        else:
            found.append(Component(_ENTITIES[kind], None, any_name=True))
    return found


def _entity(entry: QuotaEntry) -> str:
    parts = []
    for kind, shown in _SHOWN.items():
        if kind in entry.entity:
            name = entry.entity[kind]
            parts.append(f"the default {shown}" if name is None else f"{shown} '{name}'")
    return ", ".join(parts)


def _credentials(user: str, found: list[tuple[str, int]] | JavaError) -> str:
    if isinstance(found, JavaError):
        return (
            f"Error retrieving SCRAM credential configs for user-principal '{user}': {found.name}: {found}\n"
        )
    shown = ", ".join(f"{mechanism}=iterations={iterations}" for mechanism, iterations in found)
    return f"SCRAM credential configs for user-principal '{user}' are {shown}\n"


def _user_as_json(user: str, found: list[tuple[str, int]] | JavaError) -> dict[str, Any]:
    if isinstance(found, JavaError):
        return {"user": user, "error": f"{found}", "mechanisms": None}
    rows = [{"mechanism": mechanism, "iterations": iterations} for mechanism, iterations in found]
    return {"user": user, "error": None, "mechanisms": rows}


# Changing


def alter(admin: AdminClient, entities: Entities, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    """Change the quotas of an entity, or the credentials of a SCRAM user. Raises JavaError."""
    kind = entities.types[0]
    if kind == "ips":
        unknown = [each for each in (*added, *deleted) if each not in IP_QUOTAS]
        if unknown:
            raise illegal(
                "Only connection quota configs can be added for 'ips' using --bootstrap-server. Unexpected "
                f"config names: {','.join(unknown)}"
            )
    else:
        _check_configs(entities, added, deleted)
        if not any(each in QUOTAS for each in (*added, *deleted)):
            _alter_user(admin, entities.name, added, deleted)
            return
    _alter_quotas(admin, entities, added, deleted)


def _check_configs(entities: Entities, added: Iterable[str], deleted: Iterable[str]) -> None:
    """Raise JavaError if a config is not one that the type of entity has."""
    for_clients = entities.types[0] == "clients" or len(entities.types) == 2
    for verb, names in (("added", added), ("deleted", deleted)):
        scram = [each for each in names if each in _MECHANISMS]
        unknown = [each for each in names if each not in _MECHANISMS and each not in QUOTAS]
        if for_clients and (unknown or scram):
            raise illegal(
                f"Only quota configs can be {verb} for 'clients' using --bootstrap-server. Unexpected config "
                f"names: {_scala_set(unknown + scram)}"
            )
        if unknown:
            raise illegal(
                f"Only quota and SCRAM credential configs can be {verb} for 'users' using "
                f"--bootstrap-server. Unexpected config names: {_scala_set(unknown)}"
            )
    everything = (*added, *deleted)
    if not any(each in _MECHANISMS for each in everything):
        return
    if "" in entities.names:
        raise illegal(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
            "--bootstrap-server."
        )
    if any(each in QUOTAS for each in everything):
        raise illegal(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using "
            "--bootstrap-server."
        )


def _scala_set(names: Sequence[str]) -> str:
    return f"Set({', '.join(names)})"


def _alter_quotas(
    admin: AdminClient, entities: Entities, added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    entries = describe_quotas(admin, _components(entities))
    present = {key for entry in entries for key in entry.values}
    unknown = [each for each in deleted if each not in present]
    if unknown:
        raise JavaError("InvalidConfigurationException", f"Invalid config(s): {','.join(unknown)}")
    changes: dict[str, float | None] = {}
    for key, text in added.items():
        try:
            changes[key] = parse_double(text)
        except ValueError:
            raise illegal(f"Cannot parse quota configuration value for {key}: {text}") from None
    changes |= dict.fromkeys(deleted)
    entity = {
        _ENTITIES[kind]: name or None for kind, name in zip(entities.types, entities.names, strict=False)
    }
    alter_quotas(admin, entity, changes)


def _alter_user(admin: AdminClient, user: str, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    passwords = {_MECHANISMS[name]: _password(_MECHANISMS[name], text) for name, text in added.items()}
    alter_scram_user(admin, user, passwords, [_MECHANISMS[name] for name in deleted])


def _password(mechanism: ScramMechanism, text: str) -> tuple[int, str]:
    """Return the iterations and the password of a credential. Raises JavaError, whose text does not contain
    the password.
    """
    match = _CREDENTIAL.fullmatch(text)
    if match is None:
        raise illegal(
            f"Invalid credential property {mechanism.name}: it must be of the form "
            "[iterations=NUMBER,password=PASSWORD]"
        )
    iterations = int(match[1]) if match[1] and match[1] != "-1" else MIN_ITERATIONS
    if iterations < MIN_ITERATIONS:
        raise illegal(
            f"Iterations {iterations} is less than the minimum {MIN_ITERATIONS} required for {mechanism.name}"
        )
    return iterations, match[2]
