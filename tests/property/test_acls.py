"""Decisions by random ACLs are those of a model that looks at every ACL."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.protocol.api_keys import ApiKey
from kcompat.security.acl_authorizer import AclAuthorizer
from kcompat.security.acls import Acl, AclEntry, AclTable, PatternType, PermissionType, ResourcePattern
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation, ResourceType
from kcompat.security.principals import Principal

NAMES = st.text("ab*", min_size=1, max_size=3)
TYPES = st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP])
HOSTS = ("h1", "h2")
PRINCIPALS = tuple(Principal(kind, name) for kind in ("User", "Group") for name in ("a", "*"))
OPERATIONS = st.sampled_from([Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALTER_CONFIGS,
                              Operation.DESCRIBE_CONFIGS])  # fmt: skip
ACLS = st.builds(
    Acl,
    st.builds(ResourcePattern, TYPES, NAMES, st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED])),
    st.builds(
        AclEntry,
        st.one_of(OPERATIONS, st.just(Operation.ALL)),
        st.sampled_from([str(each) for each in PRINCIPALS]),
        st.sampled_from([*HOSTS, "*"]),
        st.sampled_from([PermissionType.ALLOW, PermissionType.DENY]),
    ),
)
IMPLIED = {
    (Operation.READ, Operation.DESCRIBE),
    (Operation.WRITE, Operation.DESCRIBE),
    (Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS),
}


def covers(pattern: ResourcePattern, resource: Resource) -> bool:
    if pattern.type != resource.type:
        return False
    if pattern.kind is PatternType.PREFIXED:
        return resource.name.startswith(pattern.name)
    return pattern.name in ("*", resource.name)


def is_about(entry: AclEntry, principal: Principal, host: str, operation: Operation) -> bool:
    is_same = entry.operation in (operation, Operation.ALL)
    is_implied = entry.permission is PermissionType.ALLOW and (entry.operation, operation) in IMPLIED
    return (
        entry.principal in (str(principal), "User:*")
        and entry.host in (host, "*")
        and (is_same or is_implied)
    )


def model(
    acls: set[Acl], principal: Principal, host: str, operation: Operation, resource: Resource
) -> bool | None:
    """Whether the ACLs allow it; None if none is about the resource."""
    relevant = [acl.entry for acl in acls if covers(acl.pattern, resource)]
    if not relevant:
        return None
    verdicts = {entry.permission for entry in relevant if is_about(entry, principal, host, operation)}
    return verdicts == {PermissionType.ALLOW}


def model_on_any(
    acls: set[Acl], principal: Principal, host: str, operation: Operation, kind: ResourceType
) -> bool:
    """Whether some name is left that an ACL allows and none denies: names that the patterns themselves
    show are enough, as patterns are names and prefixes.
    """
    about = {
        acl
        for acl in acls
        if acl.pattern.type == kind
        and is_about(acl.entry, principal, host, operation)
        and acl.entry.operation in (operation, Operation.ALL)
    }
    denying = [acl.pattern for acl in about if acl.entry.permission is PermissionType.DENY]
    allowing = [acl.pattern for acl in about if acl.entry.permission is PermissionType.ALLOW]
    if any(covers(pattern, Resource(kind, "never named")) for pattern in denying):
        return False
    if any(pattern == ResourcePattern(kind, "*") for pattern in allowing):
        return True
    fresh = "\x00"
    candidates = [
        Resource(kind, pattern.name if pattern.kind is PatternType.LITERAL else pattern.name + fresh)
        for pattern in allowing
    ]
    return any(not any(covers(deny, each) for deny in denying) for each in candidates)


@given(
    acls=st.sets(ACLS, max_size=12),
    removed=st.sets(st.integers(0, 11)),
    name=NAMES,
    kind=TYPES,
    principal=st.sampled_from(PRINCIPALS),
    host=st.sampled_from(HOSTS),
    operation=OPERATIONS,
    by_default=st.booleans(),
)
@settings(max_examples=500)
def test_decisions(
    acls: set[Acl],
    removed: set[int],
    name: str,
    kind: ResourceType,
    principal: Principal,
    host: str,
    operation: Operation,
    by_default: bool,
) -> None:
    table = AclTable(allows_without_acls=by_default)
    authorizer = AclAuthorizer(["User:root"], allows_without_acls=by_default)
    resource = Resource(kind, name)
    question = (principal, host, operation, resource)

    def replace(pattern: ResourcePattern, entries: frozenset[AclEntry]) -> None:
        table.replace(pattern, entries)
        authorizer.replace(pattern, entries)
        authorizer.may(*question, ApiKey.FETCH)  # the next change makes it forget this decision

    for acl in sorted(acls):
        replace(acl.pattern, table.entries_of(acl.pattern) | {acl.entry})
    gone = {acl for index, acl in enumerate(sorted(acls)) if index in removed}
    for acl in gone:
        replace(acl.pattern, table.entries_of(acl.pattern) - {acl.entry})
    left = acls - gone

    expected = model(left, *question)
    is_allowed = by_default if expected is None else expected
    decision = table.decide(*question)
    assert decision.is_allowed is is_allowed
    assert authorizer.may(*question, ApiKey.FETCH) is is_allowed
    assert authorizer.may(*question, ApiKey.FETCH) is is_allowed
    if isinstance(decision.by, Acl):
        assert decision.by in left
        assert covers(decision.by.pattern, resource)
        assert is_about(decision.by.entry, principal, host, operation)
    assert authorizer.may(Principal("User", "root"), host, operation, resource, ApiKey.FETCH)

    first = model(left, principal, host, operation, Resource(kind, "hardcode"))
    on_any = (by_default if first is None else first) or model_on_any(left, principal, host, operation, kind)
    assert table.decide_on_any(principal, host, operation, kind) is on_any
    assert authorizer.may_on_any(principal, host, operation, kind) is on_any
