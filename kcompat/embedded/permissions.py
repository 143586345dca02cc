"""ACLs as tests write them: `allow("alice", "read", topic="orders")`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

from kcompat.embedded.tracebacks import short_traceback
from kcompat.errors import UsageError
from kcompat.security.acls import WILDCARD, Acl, AclEntry, PatternType, PermissionType, ResourcePattern
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import SUPPORTED_OPERATIONS, Operation, ResourceType
from kcompat.security.principals import USER, Principal

if TYPE_CHECKING:
    from typing import Unpack

_TYPES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.CLUSTER,
}


class AclScope(TypedDict, total=False):
    """The resources that an ACL is about, by keyword: one type of resource, with a name."""

    topic: str
    group: str
    transactional_id: str
    cluster: bool
    """Whether the ACL is about the cluster, which has no name."""
    prefix: bool
    """Whether the ACL holds for all resources whose names begin with the given name."""
    host: str
    """Address that the user connects from; any by default."""


@short_traceback
def allow(user: str, *operations: str, **scope: Unpack[AclScope]) -> tuple[Acl, ...]:
    """Return ACLs that allow operations to a user, for the argument `acls` of a broker.

    `user` and the name of the resource may be `*`, which stands for all. `operations` are Kafka's, such as
    `read`, `describe_configs` or `all`.

    allow("alice", "read", topic="orders")
        allow("alice", "read", group="billing-", prefix=True)
        allow("*", "create", cluster=True, host="10.0.0.7")

    Raises:
        UsageError: an argument is not valid, or the type of resource has no such operation.
    """
    return _acls(PermissionType.ALLOW, user, operations, scope)


@short_traceback
def deny(user: str, *operations: str, **scope: Unpack[AclScope]) -> tuple[Acl, ...]:
    """Return ACLs that deny operations to a user; the arguments are those of `allow`. Another ACL cannot
    allow an operation that is denied.

    Raises:
        UsageError: as for `allow`.
    """
    return _acls(PermissionType.DENY, user, operations, scope)


def _acls(
    permission: PermissionType, user: str, operations: tuple[str, ...], scope: AclScope
) -> tuple[Acl, ...]:
    if not isinstance(user, str) or not user:
        raise UsageError(f"user={user!r} is not the name of a user: use 'alice', or '*' for all of them")
    if user.startswith(f"{USER}:"):
        bare = user.removeprefix(f"{USER}:")
        raise UsageError(f"user={user!r} is a principal: use the name of the user alone, {bare!r}")
    pattern = _pattern_of(scope)
    if not operations:
        raise UsageError(f"no operation is named: use one of {_names_of(pattern.type)}")
    principal, host = str(Principal(USER, user)), scope.get("host", WILDCARD)
    return tuple(
        Acl(pattern, AclEntry(_operation(name, pattern.type), principal, host, permission))
        for name in operations
    )


def _pattern_of(scope: AclScope) -> ResourcePattern:
    """Return the pattern of resources; exactly one type must be named."""
    named = {key: value for key, value in scope.items() if key in _TYPES and value not in (None, False)}
    unknown = scope.keys() - AclScope.__annotations__.keys()
    if not scope:
        raise UsageError(f"the ACL has no resource: name one of {', '.join(_TYPES)}, as in topic='orders'")
    if unknown or len(named) != 1:
        raise UsageError(
            f"{', '.join(f'{key}={value!r}' for key, value in scope.items())} does not say what "
            f"the ACL is about: name one of {', '.join(_TYPES)}"
        )
    ((key, name),) = named.items()
    kind = PatternType.PREFIXED if scope.get("prefix") else PatternType.LITERAL
    if key == "cluster":
        if kind is PatternType.PREFIXED or name is not True:
            raise UsageError("the cluster has no name: write cluster=True, and no prefix")
        return ResourcePattern(CLUSTER.type, CLUSTER.name)
    if not isinstance(name, str) or not name:
        raise UsageError(f"{key}={name!r} is not a name: use text, or '*' for all names")
    return ResourcePattern(_TYPES[key], name, kind)


def _operation(name: str, resource: ResourceType) -> Operation:
    for operation in _operations_of(resource):
        if isinstance(name, str) and operation.name == name.upper():
            return operation
    raise UsageError(
        f"{name!r} is no operation on a {resource.name.lower()}: use one of {_names_of(resource)}"
    )


def _operations_of(resource: ResourceType) -> list[Operation]:
    return sorted({*SUPPORTED_OPERATIONS[resource], Operation.ALL})


def _names_of(resource: ResourceType) -> str:
    return ", ".join(operation.name.lower() for operation in _operations_of(resource))
