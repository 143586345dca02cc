"""The ACLs that a command line of `kafka-acls` stands for: resources, each with its entries.

`--producer` and `--consumer` stand for the operations that such a client needs. Kafka's counterpart:
`AclCommand`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kcompat.admin.errors import JavaError
from kcompat.security.acls import PatternType, PermissionType
from kcompat.security.operations import SUPPORTED_OPERATIONS, Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcompat.commands.options import Options

CLUSTER_NAME: Final = "kafka-cluster"
ANY_HOST: Final = "*"

_PRINCIPAL: Final = re.compile(r"([^:]+):(.+)", re.DOTALL)
_NAMED: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "delegation-token": ResourceType.DELEGATION_TOKEN,
    "user-principal": ResourceType.USER,
}
"""The type of the resources that each option names."""
_PRODUCER: Final = {
    ResourceType.TOPIC: (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
}
_CONSUMER: Final = {
    ResourceType.TOPIC: (Operation.READ, Operation.DESCRIBE),
    ResourceType.GROUP: (Operation.READ,),
}


class AclTarget(msgspec.Struct, frozen=True, order=True):
    """A resource, or a filter of resources."""

    type: ResourceType
    name: str
    pattern: PatternType

    def __str__(self) -> str:
        return (
            f"ResourcePattern(resourceType={self.type.name}, name={self.name}, "
            f"patternType={self.pattern.name})"
        )


class Entry(msgspec.Struct, frozen=True, order=True):
    """One entry of an ACL."""

    principal: str
    host: str
    operation: Operation
    permission: PermissionType

    def __str__(self) -> str:
        return (
            f"(principal={self.principal}, host={self.host}, operation={self.operation.name}, "
            f"permissionType={self.permission.name})"
        )

    def plain(self) -> dict[str, Any]:
        """Return the JSON form of the entry."""
        return {
            "principal": self.principal,
            "host": self.host,
            "operation": self.operation.name,
            "permission": self.permission.name,
        }


CLUSTER: Final = AclTarget(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)


def pattern_type(options: Options) -> PatternType:
    """Return the value of `--resource-pattern-type`. Raises JavaError."""

    def convert(text: str) -> PatternType:
        found = PatternType.__members__.get(text.upper(), PatternType.UNKNOWN)
        if found is PatternType.UNKNOWN:
            raise ValueError(text)
        return found

    return options.converted("resource-pattern-type", convert, PatternType.LITERAL)  # type: ignore[no-any-return]


def resources(options: Options) -> list[AclTarget]:
    """Return the resources that options name. Raises JavaError."""
    pattern = pattern_type(options)
    found = [
        AclTarget(kind, name.strip(), pattern)
        for option, kind in _NAMED.items()
        for name in options.values(option)
    ]
    if pattern is PatternType.LITERAL and (options.has("cluster") or options.has("idempotent")):
        found.append(CLUSTER)
    return list(dict.fromkeys(found))


def rules(options: Options) -> dict[AclTarget, set[Entry]]:
    """Return the entries for each resource that the options ask for.

    The command ends if there is no resource, or an operation is not one of the resource's type. Raises
    JavaError for an invalid principal.
    """
    named = resources(options)
    if not named:
        options.parser.fail(
            "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
            "--delegation-token <Delegation Token ID>"
        )
    found: dict[AclTarget, set[Entry]] = {}
    if not options.has("producer") and not options.has("consumer"):
        operations = [_operation(text.strip()) for text in options.values("operation") or ["All"]]
        found = {each: set(entries(options, operations)) for each in named}
    if options.has("producer"):
        _add(found, options, named, _PRODUCER)
        if options.has("idempotent"):
            found.setdefault(CLUSTER, set()).update(entries(options, [Operation.IDEMPOTENT_WRITE]))
    if options.has("consumer"):
        _add(found, options, named, _CONSUMER)
    _check(options, found)
    return found


def _add(
    found: dict[AclTarget, set[Entry]],
    options: Options,
    named: Iterable[AclTarget],
    operations: Mapping[ResourceType, Iterable[Operation]],
) -> None:
    for each in named:
        if each.type in operations:
            found.setdefault(each, set()).update(entries(options, operations[each.type]))


def entries(options: Options, operations: Iterable[Operation]) -> list[Entry]:
    """Return an entry for each principal, operation and host that options allow or deny. Raises JavaError."""
    found = []
    for word, permission in (("allow", PermissionType.ALLOW), ("deny", PermissionType.DENY)):
        named = principals(options, f"{word}-principal")
        hosts = [host.strip() for host in options.values(f"{word}-host")] or [ANY_HOST]
        found += [
            Entry(principal, host, operation, permission)
            for principal in named
            for operation in operations
            for host in hosts
        ]
    return found


def principals(options: Options, name: str) -> list[str]:
    """Return the principals of an option. Raises JavaError for a text that is not a principal."""
    found = []
    for text in options.values(name):
        if _PRINCIPAL.fullmatch(text.strip()) is None:
            raise JavaError(
                "IllegalArgumentException",
                f"expected a string in format principalType:principalName but got {text.strip()}",
                package="java.lang.",
            )
        found.append(text.strip())
    return list(dict.fromkeys(found))


def _operation(text: str) -> Operation:
    """Return an operation by the name that Kafka's command has for it, such as `ClusterAction`."""
    wanted = text.replace("_", "").upper()
    return next((each for each in Operation if each.name.replace("_", "") == wanted), Operation.UNKNOWN)


def _check(options: Options, found: Mapping[AclTarget, set[Entry]]) -> None:
    """End the command if an operation is not one of its resource's."""
    for resource, acl in found.items():
        allowed = {*SUPPORTED_OPERATIONS[resource.type], Operation.ALL}
        if not {entry.operation for entry in acl} <= allowed:
            shown = ", ".join(each.name for each in sorted(allowed))
            options.parser.fail(f"ResourceType {resource.type.name} only supports operations [{shown}]")
