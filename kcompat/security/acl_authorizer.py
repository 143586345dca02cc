"""The authorizer that decides by ACLs, and its audit log (Kafka's `StandardAuthorizer`).

Decisions are remembered until an ACL changes, so most cost one look-up.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kcompat.logger_names import AUTHORIZER
from kcompat.security.acls import SUPER_USER, AclTable
from kcompat.security.authorizer import LONGEST_NAME, Purpose
from kcompat.security.operations import camel_case
from kcompat.wording import printable

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcompat.protocol.api_keys import ApiKey
    from kcompat.security.acls import Acl, AclDecision, AclEntry, AclFilter, ResourcePattern
    from kcompat.security.authorizer import Resource
    from kcompat.security.operations import Operation, ResourceType
    from kcompat.security.principals import Principal

MOST_REMEMBERED: Final = 10_000
"""Decisions that are remembered. With names of `LONGEST_NAME` characters they take about 5 MB."""

TRACE: Final = 5
DEBUG: Final = logging.DEBUG
INFO: Final = logging.INFO

# Python 3.11 takes 0.2 us to find a member of an enumeration.
_ACCESS: Final = Purpose.ACCESS
_OPERATIONS: Final = Purpose.OPERATIONS

_audit_log = logging.getLogger(AUTHORIZER)
_is_logged = _audit_log.isEnabledFor


class AclAuthorizer:
    """An authorizer that decides by a table of ACLs and a list of super users."""

    allows_everything = False

    def __init__(
        self,
        super_users: Collection[str] = (),
        *,
        allows_without_acls: bool = False,
        most_remembered: int = MOST_REMEMBERED,
    ) -> None:
        """Make an authorizer without ACLs. `super_users` are principals such as `User:admin`, which may do
        everything; `allows_without_acls` is Kafka's `allow.everyone.if.no.acl.found`.
        """
        self._most_remembered = most_remembered
        self._super_users = frozenset(super_users)
        self._table = AclTable(allows_without_acls=allows_without_acls)
        self.generation = object()
        """An object that stays the same until an ACL changes."""
        self._decisions: dict[tuple[Principal, str, Operation, Resource], AclDecision] = {}
        self._on_any: dict[tuple[Principal, str, Operation, ResourceType], bool] = {}

    def may(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource: Resource,
        request: ApiKey,
        purpose: Purpose = _ACCESS,
        /,
    ) -> bool:
        """Return whether a principal may do an operation on a resource, and log the decision.

        As in Kafka, access that is denied is logged at INFO and access that is allowed at DEBUG; decisions
        for other purposes at TRACE.
        """
        question = (principal, host, operation, resource)
        decision = self._decisions.get(question)
        if decision is None:
            decision = self._decide(question)
        if decision.is_allowed:
            level = TRACE if purpose is _OPERATIONS else DEBUG
        else:
            level = INFO if purpose is _ACCESS else TRACE
        if _is_logged(level):
            _audit_log.log(level, "%s", _audit(question, request, decision))
        return decision.is_allowed

    def may_on_any(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType, /
    ) -> bool:
        """Return whether a principal may do an operation on at least one possible resource of a type."""
        question = (principal, host, operation, resource_type)
        is_allowed = self._on_any.get(question)
        if is_allowed is None:
            is_allowed = str(principal) in self._super_users or self._table.decide_on_any(*question)
            if len(self._on_any) >= self._most_remembered:
                self._on_any.clear()
            self._on_any[question] = is_allowed
        return is_allowed

    @property
    def remembered(self) -> int:
        """Number of remembered decisions."""
        return len(self._decisions) + len(self._on_any)

    def find(self, wanted: AclFilter) -> list[Acl]:
        """Return the ACLs that pass a filter, in order."""
        return self._table.find(wanted)

    def patterns(self) -> list[ResourcePattern]:
        """Return all patterns that have entries, in order."""
        return self._table.patterns()

    def replace(self, pattern: ResourcePattern, entries: frozenset[AclEntry]) -> None:
        """Replace all entries of a pattern, and forget the decisions made before."""
        if self._table.replace(pattern, entries):
            self._decisions.clear()
            self._on_any.clear()
            self.generation = object()

    def _decide(self, question: tuple[Principal, str, Operation, Resource]) -> AclDecision:
        is_super_user = str(question[0]) in self._super_users
        decision = SUPER_USER if is_super_user else self._table.decide(*question)
        if len(question[3].name) <= LONGEST_NAME:
            if len(self._decisions) >= self._most_remembered:
                self._decisions.clear()
            self._decisions[question] = decision
        return decision


def _audit(
    question: tuple[Principal, str, Operation, Resource], request: ApiKey, decision: AclDecision
) -> str:
    """Return the line of Kafka's audit log about a decision. Characters that end a line are escaped, because
    clients choose the names of resources.
    """
    principal, host, operation, resource = question
    return printable(
        f"Principal = {principal} is {'Allowed' if decision.is_allowed else 'Denied'} "
        f"operation = {operation.name} from host = {host} "
        f"on resource = {camel_case(resource.type)}:LITERAL:{resource.name} "
        f"for request = {camel_case(request)} with resourceRefCount = 1 based on rule {decision.rule}"
    )
