"""Access control lists (ACLs): patterns of resources, their entries, filters, and the decision of Kafka's
`StandardAuthorizer`.

A pattern is a literal name, the literal name `*` for all names, or a prefix of names. Each pattern has
entries, which allow or deny an operation to a principal from a host.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from kcompat.security.addresses import numeric_address
from kcompat.security.authorizer import Resource
from kcompat.security.operations import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kcompat.security.principals import Principal

WILDCARD: Final = "*"
"""Literal name of the pattern that matches all names, and host of the entries that match all hosts."""
EVERYONE: Final = "User:*"
"""Principal of the entries that match all principals, of all types."""


class PatternType(IntEnum):
    """Ways in which a pattern or a filter matches names (Kafka's `PatternType`); ANY and MATCH are for
    filters.
    """

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class PermissionType(IntEnum):
    """Whether an entry allows or denies (Kafka's `AclPermissionType`); ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ResourcePattern(Struct, frozen=True, order=True, gc=False):
    """A pattern of resources of one type."""

    type: ResourceType
    name: str
    kind: PatternType = PatternType.LITERAL


class AclEntry(Struct, frozen=True, order=True, gc=False):
    """A permission for one operation, which belongs to a pattern; entries sort as in Kafka's
    `StandardAcl`.
    """

    operation: Operation
    principal: str
    host: str
    permission: PermissionType


class Acl(Struct, frozen=True, order=True, gc=False):
    """A pattern and one of its entries (Kafka's `AclBinding`)."""

    pattern: ResourcePattern
    entry: AclEntry


class AclFilter(Struct, frozen=True, gc=False):
    """A filter of ACLs; None and ANY match everything (Kafka's `AclBindingFilter`)."""

    type: ResourceType
    name: str | None
    kind: PatternType
    principal: str | None
    host: str | None
    operation: Operation
    permission: PermissionType

    def matches_pattern(self, pattern: ResourcePattern) -> bool:
        """Return whether a pattern passes; with MATCH, patterns that match the filter's name pass."""
        if self.type not in (ResourceType.ANY, pattern.type):
            return False
        if self.kind not in (PatternType.ANY, PatternType.MATCH, pattern.kind):
            return False
        if self.name is None or self.name == pattern.name:
            return True
        if self.kind is not PatternType.MATCH:
            return False
        if pattern.kind is PatternType.PREFIXED:
            return self.name.startswith(pattern.name)
        return pattern.name == WILDCARD

    def matches_entry(self, entry: AclEntry) -> bool:
        """Return whether an entry of a matching pattern passes."""
        return (
            self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (Operation.ANY, entry.operation)
            and self.permission in (PermissionType.ANY, entry.permission)
        )

    def named_patterns(self) -> tuple[ResourcePattern, ...]:
        """Return the patterns that the filter names itself; none if it can match any others."""
        if self.type in (ResourceType.ANY, ResourceType.UNKNOWN) or not self.name:
            return ()
        match self.kind:
            case PatternType.LITERAL | PatternType.PREFIXED:
                return (ResourcePattern(self.type, self.name, self.kind),)
            case PatternType.ANY:
                return tuple(ResourcePattern(self.type, self.name, kind) for kind in STORED_KINDS)
        return ()


STORED_KINDS: Final = (PatternType.LITERAL, PatternType.PREFIXED)
"""Kinds of patterns that ACLs are stored for."""

_ALLOWED_BY: Final[Mapping[Operation, frozenset[Operation]]] = {
    operation: frozenset({operation, Operation.ALL}) for operation in Operation
} | {
    Operation.DESCRIBE: frozenset(
        {
            Operation.ALL,
            Operation.DESCRIBE,
            Operation.READ,
            Operation.WRITE,
            Operation.DELETE,
            Operation.ALTER,
        }
    ),
    Operation.DESCRIBE_CONFIGS: frozenset(
        {Operation.ALL, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}
    ),
}
"""Operations of entries that allow an operation. Entries that deny imply no other operation."""

_ANY_NAME: Final = "hardcode"
"""Resource name that Kafka's `Authorizer.authorizeByResourceType` asks about first."""


class AclDecision(Struct, frozen=True):
    """Whether an operation is allowed, and the rule or the ACL that decides it."""

    is_allowed: bool
    by: str | Acl

    @property
    def rule(self) -> str:
        """The rule as Kafka's audit log names it (`StandardAuthorizerData.MatchingRule`)."""
        if isinstance(self.by, str):
            return self.by
        pattern, entry = self.by.pattern, self.by.entry
        return (
            f"MatchingAcl(acl=StandardAcl(resourceType={pattern.type.name}, resourceName={pattern.name}, "
            f"patternType={pattern.kind.name}, principal={entry.principal}, host={entry.host}, "
            f"operation={entry.operation.name}, permissionType={entry.permission.name}))"
        )


DEFAULT_ALLOW: Final = AclDecision(is_allowed=True, by="DefaultAllow")
DEFAULT_DENY: Final = AclDecision(is_allowed=False, by="DefaultDeny")
SUPER_USER: Final = AclDecision(is_allowed=True, by="SuperUser")


class _Patterns:
    """The patterns of one resource type, with their entries by principal."""

    __slots__ = ("_counts", "_lengths", "_of_principal", "literal", "prefixed")

    def __init__(self) -> None:
        self.literal: dict[str, dict[str, tuple[AclEntry, ...]]] = {}
        self.prefixed: dict[str, dict[str, tuple[AclEntry, ...]]] = {}
        self._of_principal: dict[str, set[tuple[PatternType, str]]] = {}
        """Kind and name of the patterns that have entries of a principal."""
        self._counts: dict[int, int] = {}
        """Number of prefixes by length."""
        self._lengths: list[int] = []
        """Lengths that prefixes have, longest first."""

    def of(self, kind: PatternType) -> dict[str, dict[str, tuple[AclEntry, ...]]]:
        """Return the entries of literal or of prefixed patterns, by name."""
        return self.literal if kind is PatternType.LITERAL else self.prefixed

    def replace(self, pattern: ResourcePattern, entries: frozenset[AclEntry]) -> None:
        """Replace the entries of a pattern; without entries the pattern is removed."""
        by_name = self.of(pattern.kind)
        before, old, new = len(by_name), by_name.pop(pattern.name, {}), _by_principal(entries)
        if new:
            by_name[pattern.name] = new
        for principal in old.keys() - new.keys():
            self._of_principal[principal].discard((pattern.kind, pattern.name))
            if not self._of_principal[principal]:
                del self._of_principal[principal]
        for principal in new.keys() - old.keys():
            self._of_principal.setdefault(principal, set()).add((pattern.kind, pattern.name))
        if pattern.kind is PatternType.PREFIXED and len(by_name) != before:
            length = len(pattern.name)
            self._counts[length] = self._counts.get(length, 0) + len(by_name) - before
            self._lengths = sorted((each for each, count in self._counts.items() if count), reverse=True)

    def about(self, principal: str) -> Iterator[tuple[PatternType, str, AclEntry]]:
        """Yield the entries that are about a principal, with kind and name of their patterns."""
        places = self._of_principal.get(principal, set()) | self._of_principal.get(EVERYONE, set())
        for kind, name in places:
            for entry in _of_principal(self.of(kind)[name], principal):
                yield kind, name, entry

    def matching(self, name: str) -> Iterator[tuple[PatternType, str, dict[str, tuple[AclEntry, ...]]]]:
        """Yield the patterns that match a name, in the order in which Kafka examines them."""
        if (entries := self.literal.get(name)) is not None:
            yield PatternType.LITERAL, name, entries
        for length in self._lengths:
            if length <= len(name) and (entries := self.prefixed.get(name[:length])) is not None:
                yield PatternType.PREFIXED, name[:length], entries
        if name != WILDCARD and (entries := self.literal.get(WILDCARD)) is not None:
            yield PatternType.LITERAL, WILDCARD, entries


class AclTable:
    """All ACLs of a cluster, arranged so that a decision costs some look-ups whatever their number."""

    def __init__(self, *, allows_without_acls: bool = False) -> None:
        """Make an empty table. `allows_without_acls` is Kafka's `allow.everyone.if.no.acl.found`: whether
        everything is allowed on resources that no pattern matches.
        """
        self._default = DEFAULT_ALLOW if allows_without_acls else DEFAULT_DENY
        self._types: dict[ResourceType, _Patterns] = {}
        self._entries: dict[ResourcePattern, frozenset[AclEntry]] = {}

    def entries_of(self, pattern: ResourcePattern) -> frozenset[AclEntry]:
        """Return the entries of a pattern; none if it is unknown."""
        return self._entries.get(pattern, frozenset())

    def patterns(self) -> list[ResourcePattern]:
        """Return all patterns that have entries, in order."""
        return sorted(self._entries)

    def find(self, wanted: AclFilter) -> list[Acl]:
        """Return the ACLs that pass a filter, in order."""
        return [
            Acl(pattern, entry)
            for pattern in self.patterns()
            if wanted.matches_pattern(pattern)
            for entry in sorted(self._entries[pattern])
            if wanted.matches_entry(entry)
        ]

    def replace(self, pattern: ResourcePattern, entries: frozenset[AclEntry]) -> bool:
        """Replace all entries of a pattern; return whether that changes any."""
        if entries == self.entries_of(pattern):
            return False
        self._types.setdefault(pattern.type, _Patterns()).replace(pattern, entries)
        if entries:
            self._entries[pattern] = entries
        else:
            del self._entries[pattern]
        return True

    def decide(
        self, principal: Principal, host: str, operation: Operation, resource: Resource
    ) -> AclDecision:
        """Decide whether a principal at a host may do an operation on a resource.

        An entry that denies wins over all that allow. The rule is the first such entry, or the last that
        allows.
        """
        patterns, own_name = self._types.get(resource.type), str(principal)
        if patterns is None:
            return self._default
        allowed_by, has_acls = _ALLOWED_BY[operation], False
        allowing: tuple[PatternType, str, AclEntry] | None = None
        for kind, name, entries in patterns.matching(resource.name):
            has_acls = True
            for entry in _of_principal(entries, own_name):
                if entry.host not in (WILDCARD, host):
                    continue
                if entry.permission is not PermissionType.ALLOW:
                    if entry.operation in (operation, Operation.ALL):
                        return AclDecision(
                            is_allowed=False, by=Acl(ResourcePattern(resource.type, name, kind), entry)
                        )
                elif entry.operation in allowed_by:
                    allowing = (kind, name, entry)
        if allowing is not None:
            kind, name, entry = allowing
            return AclDecision(is_allowed=True, by=Acl(ResourcePattern(resource.type, name, kind), entry))
        return DEFAULT_DENY if has_acls else self._default

    def decide_on_any(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Return whether a principal at a host may do an operation on at least one possible resource of a
        type (Kafka's `Authorizer.authorizeByResourceType`). Implied operations do not count, unless they are
        allowed for all names.
        """
        if self.decide(principal, host, operation, Resource(resource_type, _ANY_NAME)).is_allowed:
            return True
        patterns = self._types.get(resource_type)
        if patterns is None:
            return False
        found = {
            (kind, entry.permission, name)
            for kind, name, entry in patterns.about(str(principal))
            if entry.host in (WILDCARD, host) and entry.operation in (operation, Operation.ALL)
        }
        return _leaves_any(found)


def _leaves_any(found: set[tuple[PatternType, PermissionType, str]]) -> bool:
    """Return whether any pattern that allows is not covered by a pattern that denies."""

    def names(kind: PatternType, permission: PermissionType) -> set[str]:
        return {
            name for of_kind, of_permission, name in found if (of_kind, of_permission) == (kind, permission)
        }

    denied = names(PatternType.LITERAL, PermissionType.DENY)
    denied_prefixes = names(PatternType.PREFIXED, PermissionType.DENY)
    allowed = names(PatternType.LITERAL, PermissionType.ALLOW)
    if WILDCARD in denied or WILDCARD in allowed:
        return WILDCARD not in denied
    left = (allowed - denied) | names(PatternType.PREFIXED, PermissionType.ALLOW)
    return any(
        not any(name[:length] in denied_prefixes for length in range(1, len(name) + 1)) for name in left
    )


def _by_principal(entries: Iterable[AclEntry]) -> dict[str, tuple[AclEntry, ...]]:
    found: dict[str, list[AclEntry]] = {}
    for entry in sorted(entries):
        # Java writes IPv6 addresses without `::`, so an ACL for a Kafka does.
        numeric = replace(entry, host=numeric_address(entry.host)) if ":" in entry.host else entry
        found.setdefault(entry.principal, []).append(numeric)
    return {principal: tuple(each) for principal, each in found.items()}


def _of_principal(entries: Mapping[str, tuple[AclEntry, ...]], principal: str) -> Iterable[AclEntry]:
    """Return the entries of a pattern that are about a principal, in order."""
    own, everyone = entries.get(principal, ()), entries.get(EVERYONE, ())
    return sorted({*own, *everyone}) if own and everyone else own or everyone
