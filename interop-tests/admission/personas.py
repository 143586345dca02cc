"""Clients from different addresses, whose access is ruled by ACLs of their own.

A plaintext listener authenticates nobody, but an ACL can name a host. So the ACLs of all personas stand from
the start, and a connection chooses its persona by the address that it comes from. There are two families:

- `DENIED` personas may do everything, except one operation or a few.
- `ALLOWED` personas may do everything to resources whose names begin with `OPEN`, and one operation more:
  on secret resources by an ACL of a prefix, of a literal name or of all names, or on the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcompat.security.acls import PatternType, PermissionType
from kcompat.security.operations import SUPPORTED_OPERATIONS, Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterator

PRINCIPAL = "User:ANONYMOUS"
OPEN, SECRET = "open", "secret"
ANY_NAME = "*"
CLUSTER_NAME = "kafka-cluster"
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = PermissionType.ALLOW, PermissionType.DENY
TYPES = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID)
NAMED_TYPES = tuple(kind for kind in TYPES if kind is not ResourceType.CLUSTER)
MAKER_HOST = "127.0.0.1"
"""The address of the client that makes what the personas ask about: it may do everything."""
NEVER_HOST = "127.0.6.1"
"""An address that no client comes from."""


class Rule(NamedTuple):
    """One ACL of a persona, for its own host unless another is given."""

    operation: Operation
    type: ResourceType
    name: str
    kind: PatternType = LITERAL
    permission: PermissionType = DENY
    host: str | None = None
    principal: str = PRINCIPAL


class Persona(NamedTuple):
    """A client and its ACLs."""

    name: str
    host: str
    rules: tuple[Rule, ...]


def _denied(operation: Operation, kind: ResourceType) -> Rule:
    """The denial of an operation on secret resources, or on the cluster."""
    if kind is ResourceType.CLUSTER:
        return Rule(operation, kind, CLUSTER_NAME)
    return Rule(operation, kind, SECRET, PREFIXED)


NO_CLUSTER = _denied(Operation.ALL, ResourceType.CLUSTER)
"""A client that may do something to the cluster may often do it to each topic and group."""

ALL_ALLOWED = tuple(
    Rule(Operation.ALL, kind, CLUSTER_NAME if kind is ResourceType.CLUSTER else ANY_NAME, LITERAL, ALLOW)
    for kind in TYPES
)
OPEN_ALLOWED = tuple(Rule(Operation.ALL, kind, OPEN, PREFIXED, ALLOW) for kind in NAMED_TYPES)


def _denying() -> Iterator[tuple[str, tuple[Rule, ...]]]:
    yield "free", ()
    for kind in TYPES:
        for operation in sorted(SUPPORTED_OPERATIONS[kind]):
            denial = _denied(operation, kind)
            yield f"{kind.name}-{operation.name}", (denial,)
            if kind in (ResourceType.TOPIC, ResourceType.GROUP):
                yield f"{kind.name}-{operation.name}-and-cluster", (denial, NO_CLUSTER)
    yield "cluster", (NO_CLUSTER,)
    yield "writes-nothing", (NO_CLUSTER, Rule(Operation.WRITE, ResourceType.TOPIC, ANY_NAME))
    yield "knows-no-secret", tuple(_denied(Operation.ALL, kind) for kind in TYPES)
    names = {ResourceType.CLUSTER: CLUSTER_NAME}
    yield "nobody", tuple(Rule(Operation.ALL, kind, names.get(kind, ANY_NAME)) for kind in TYPES)


def _allowing() -> Iterator[tuple[str, tuple[Rule, ...]]]:
    yield "only-open", ()
    for kind in TYPES:
        for operation in (*sorted(SUPPORTED_OPERATIONS[kind]), Operation.ALL):
            rule = _denied(operation, kind)._replace(permission=ALLOW)
            yield f"only-{kind.name}-{operation.name}", (rule,)
    read, write = (
        Rule(each, ResourceType.TOPIC, ANY_NAME, LITERAL, ALLOW) for each in (Operation.READ, Operation.WRITE)
    )
    read_group = Rule(Operation.READ, ResourceType.GROUP, ANY_NAME, LITERAL, ALLOW)
    yield "reads-all", (read, read_group)
    yield (
        "reads-all-by-everyone",
        (read._replace(principal="User:*"), read_group._replace(principal="User:*")),
    )
    yield "reads-the-shared", (read._replace(name="secret-shared"), read_group._replace(name="secret-group"))
    yield "reads-but-does-not-describe", (read, read_group, _denied(Operation.DESCRIBE, ResourceType.TOPIC))
    yield "reads-all-but-secrets", (read, read_group, _denied(Operation.READ, ResourceType.TOPIC))
    yield "writes-all-elsewhere", (write._replace(host=NEVER_HOST), read._replace(host=NEVER_HOST))
    yield (
        "reads-as-another",
        (read._replace(principal="User:alice"), read_group._replace(principal="User:alice")),
    )


def _number(
    first: int, named: Iterator[tuple[str, tuple[Rule, ...]]], common: tuple[Rule, ...]
) -> tuple[Persona, ...]:
    return tuple(
        Persona(name.lower().replace("_", "-"), f"127.0.7.{number}", (*common, *rules))
        for number, (name, rules) in enumerate(named, first)
    )


DENIED = _number(1, _denying(), ALL_ALLOWED)
"""The first is the one that may do everything, with which all others are compared."""
ALLOWED = _number(1 + len(DENIED), _allowing(), OPEN_ALLOWED)
PERSONAS = DENIED + ALLOWED


def rules() -> list[dict[str, object]]:
    """The ACLs of all personas, and of the client that makes things, as rows of CreateAcls."""
    makers = Persona("maker", MAKER_HOST, ALL_ALLOWED)
    return [
        {
            "resource_type": rule.type,
            "resource_name": rule.name,
            "resource_pattern_type": rule.kind,
            "principal": rule.principal,
            "host": rule.host or persona.host,
            "operation": rule.operation,
            "permission_type": rule.permission,
        }
        for persona in (*PERSONAS, makers)
        for rule in persona.rules
    ]
