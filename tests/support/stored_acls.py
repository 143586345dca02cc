"""ACLs of one broker in a store in memory, and requests to the handlers about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from kcompat.promise import Promise
from kcompat.protocol.messages.create_acls import CreateAclsRequest
from kcompat.protocol.messages.delete_acls import DeleteAclsRequest
from kcompat.protocol.messages.describe_acls import DescribeAclsRequest
from kcompat.security.acl_authorizer import AclAuthorizer
from kcompat.security.acl_store import AclStore
from kcompat.store.process_store import ProcessStore
from support.asking import NOW_MS, services_of
from support.controllers import answer

if TYPE_CHECKING:
    from kcompat.api.context import Services
    from kcompat.security.authorizer import Authorizer

RULE = {
    "resource_type": 2, "resource_name": "t", "resource_pattern_type": 3,
    "principal": "User:a", "host": "*", "operation": 3, "permission_type": 3,
}  # fmt: skip
FILTER = {
    "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1,
    "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1,
}  # fmt: skip
"""A filter that matches every ACL."""


class StoredAcls:
    """A broker's ACLs, whose handlers allow everything unless told otherwise."""

    def __init__(self, *, escapes: bool = True) -> None:
        self.authorizer = AclAuthorizer()
        self._escapes = escapes

    async def __aenter__(self) -> Self:
        self._store = ProcessStore.in_memory(lambda: NOW_MS)
        self.session = await self._store.session()
        self.acls = AclStore(self.session, self.authorizer, lambda: NOW_MS, escapes=self._escapes)
        await self.acls.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.acls.stop()
        await self._store.close()

    def services(self, authorizer: Authorizer | None = None) -> Services:
        """The services of a broker with these ACLs."""
        parts: dict[str, Any] = {} if authorizer is None else {"authorizer": authorizer}
        return services_of(acls=self.acls, **parts)


def creating(*rules: dict[str, object]) -> CreateAclsRequest:
    """A request for rules like `RULE` with these changes."""
    return CreateAclsRequest(
        creations=[CreateAclsRequest.AclCreation(**(RULE | rule)) for rule in rules]  # type: ignore[arg-type]
    )


def describing(**changes: object) -> DescribeAclsRequest:
    """A request with `FILTER` and these changes."""
    return DescribeAclsRequest(**(FILTER | changes))  # type: ignore[arg-type]


def deleting(*filters: dict[str, object]) -> DeleteAclsRequest:
    """A request for filters like `FILTER` with these changes."""
    return DeleteAclsRequest(
        filters=[DeleteAclsRequest.DeleteAclsFilter(**(FILTER | each)) for each in filters]  # type: ignore[arg-type]
    )


async def outcome(response: Any) -> Any:
    """Wait for a handler's response, unless it is there at once."""
    return await answer(response) if isinstance(response, Promise) else response
