"""The clients in the tests of admission: they connect from different addresses, and each is denied
something.

A plaintext listener knows nobody by name, but an access rule can name a host. So the rules of all personas
stand from the start, and a connection chooses its persona by the address it comes from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcompat.security.operations import SUPPORTED_OPERATIONS, Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcompat.security.authorizer import Resource
    from kcompat.security.principals import Principal

PRINCIPAL = "User:ANONYMOUS"
SECRET = "secret"
ANY_NAME = "*"
CLUSTER_NAME = "kafka-cluster"
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
TYPES = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID)


class Denial(NamedTuple):
    """One operation that is denied, on the resources of this type whose names begin with `SECRET`, on all
    of them, or on the cluster.
    """

    operation: Operation
    type: ResourceType
    name: str

    def covers(self, operation: Operation, resource: Resource) -> bool:
        """Whether this is one of the things denied."""
        if self.operation not in (operation, Operation.ALL) or self.type != resource.type:
            return False
        return resource.name.startswith(SECRET) if self.name == SECRET else True


NO_CLUSTER = Denial(Operation.ALL, ResourceType.CLUSTER, CLUSTER_NAME)
"""A client that is authorized for the cluster is often authorized for each topic and group by that."""


class Persona(NamedTuple):
    """A client that may do everything but this."""

    name: str
    host: str
    denials: tuple[Denial, ...]


def _name_of(kind: ResourceType) -> str:
    return CLUSTER_NAME if kind is ResourceType.CLUSTER else SECRET


def _denials() -> Iterator[tuple[str, tuple[Denial, ...]]]:
    yield "free", ()
    for kind in TYPES:
        for operation in sorted(SUPPORTED_OPERATIONS[kind]):
            denial = Denial(operation, kind, _name_of(kind))
            yield f"{kind.name}-{operation.name}", (denial,)
            if kind in (ResourceType.TOPIC, ResourceType.GROUP):
                yield f"{kind.name}-{operation.name}-and-cluster", (denial, NO_CLUSTER)
    yield "cluster", (NO_CLUSTER,)
    yield "writes-nothing", (NO_CLUSTER, Denial(Operation.WRITE, ResourceType.TOPIC, ANY_NAME))
    yield "knows-no-secret", tuple(Denial(Operation.ALL, kind, _name_of(kind)) for kind in TYPES)
    names = {ResourceType.CLUSTER: CLUSTER_NAME}
    yield "nobody", tuple(Denial(Operation.ALL, kind, names.get(kind, ANY_NAME)) for kind in TYPES)


PERSONAS = tuple(
    Persona(name.lower().replace("_", "-"), f"127.0.7.{number}", denials)
    for number, (name, denials) in enumerate(_denials(), 1)
)


def kafka_rules() -> list[dict[str, object]]:
    """The personas as rows of CreateAcls: everyone may do everything, except what a persona is denied."""
    rows = []
    for kind in TYPES:
        name = CLUSTER_NAME if kind is ResourceType.CLUSTER else ANY_NAME
        rows.append(_rule(kind, name, "*", Operation.ALL, ALLOW))
    for persona in PERSONAS:
        rows += [_rule(each.type, each.name, persona.host, each.operation, DENY) for each in persona.denials]
    return rows


def _rule(
    kind: ResourceType, name: str, host: str, operation: Operation, permission: int
) -> dict[str, object]:
    return {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": PREFIXED if name == SECRET else LITERAL,
        "principal": PRINCIPAL,
        "host": host,
        "operation": operation,
        "permission_type": permission,
    }


class DenyingAuthorizer:
    """The personas as an authorizer of ours."""

    allows_everything = False

    def __init__(self) -> None:
        self._denials = {persona.host: persona.denials for persona in PERSONAS}

    def may(self, principal: Principal, host: str, operation: Operation, resource: Resource) -> bool:
        """Return True unless a denial of the host covers the operation."""
        assert str(principal) == PRINCIPAL, principal
        return not any(denial.covers(operation, resource) for denial in self._denials.get(host, ()))

    def may_on_any(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Return True unless a denial covers every resource of the type."""
        assert str(principal) == PRINCIPAL, principal
        return not any(
            denial.type == resource_type
            and denial.name != SECRET
            and denial.operation in (operation, Operation.ALL)
            for denial in self._denials.get(host, ())
        )
