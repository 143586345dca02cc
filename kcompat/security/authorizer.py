"""The port to the authorizer, which decides which operations a principal may do; and an authorizer that
allows all.
"""

from __future__ import annotations

from collections import defaultdict
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, Self

from msgspec import Struct

from kcompat.security.operations import ResourceType

if TYPE_CHECKING:
    from kcompat.protocol.api_keys import ApiKey
    from kcompat.security.operations import Operation
    from kcompat.security.principals import Principal


# Python 3.11 takes 0.2 us to find a member of an enumeration, and handlers name resources all the time.
_TOPIC: Final = ResourceType.TOPIC
_GROUP: Final = ResourceType.GROUP


class Resource(Struct, frozen=True, gc=False):
    """A resource that access is controlled for, whether or not it exists."""

    type: ResourceType
    name: str

    @classmethod
    def topic(cls, name: str) -> Self:
        """Return the topic of this name as a resource."""
        return cls(_TOPIC, name)

    @classmethod
    def group(cls, group_id: str) -> Self:
        """Return the group of this id, of any kind, as a resource."""
        return cls(_GROUP, group_id)

    @classmethod
    def transactional_id(cls, name: str) -> Self:
        """Return the transactional id of a producer as a resource."""
        return cls(ResourceType.TRANSACTIONAL_ID, name)


LONGEST_NAME: Final = 249
"""Maximum number of characters of a name whose decisions are remembered: the length of the longest topic
name.
"""
MOST_TOPICS: Final = 500
"""Maximum number of topics that are remembered for each client and operation; with the longest names they
take 160 KB.
"""

CLUSTER = Resource(ResourceType.CLUSTER, "kafka-cluster")
"""The cluster as a resource, the only one of its type, under the name that Kafka gives it."""


class Purpose(Enum):
    """Purpose of a question to the authorizer, which decides at which level the decision is logged."""

    ACCESS = "access"
    """The client names the resource and wants to use it."""
    FILTER = "filter"
    """If access is denied, the resource is left out of the response, or the client is checked for another
    one.
    """
    OPERATIONS = "operations"
    """The response lists the operations that are allowed."""


class Authorizer(Protocol):
    """The port to an authorizer (Kafka's `Authorizer`, KIP-504)."""

    @property
    def allows_everything(self) -> bool:
        """Whether `may` is always true, so that a caller on a hot path need not call it."""

    @property
    def generation(self) -> object:
        """An object that stays the same as long as `may` gives the same answers."""

    def may(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource: Resource,
        request: ApiKey,
        purpose: Purpose = Purpose.ACCESS,
        /,
    ) -> bool:
        """Return whether a principal that connects from a host may do this operation on a resource. `request`
        and `purpose` are for the log.
        """

    def may_on_any(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType, /
    ) -> bool:
        """Return whether a principal may do this operation on at least one possible resource of this type."""


class AllowedTopics:
    """The topics that a client is known to be allowed to use, in one generation of an authorizer."""

    __slots__ = ("generation", "names", "principal")

    def __init__(self, principal: Principal, generation: object) -> None:
        self.principal = principal
        self.generation = generation
        self.names: defaultdict[Operation, set[str]] = defaultdict(set)
        """Names of topics by the operation that is allowed."""

    def is_of(self, principal: Principal, generation: object) -> bool:
        """Return whether the topics are those of a principal in a generation of the authorizer."""
        return self.principal is principal and self.generation is generation

    def add(self, operation: Operation, name: str) -> None:
        """Remember an allowed operation, unless the limit of topics for one client is reached."""
        names = self.names[operation]
        if len(names) < MOST_TOPICS and len(name) <= LONGEST_NAME:
            names.add(name)


class AllowEverything:
    """The authorizer of a broker without a configured one: it allows all operations."""

    allows_everything = True
    generation = None

    def may(self, *_question: object) -> bool:
        return True

    def may_on_any(self, *_question: object) -> bool:
        return True
