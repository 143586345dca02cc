"""ACL operations and resource types (KIP-140, KIP-430): Kafka's codes, and the operations of each resource
type.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NOT_REQUESTED = -(2**31)
"""Bit field in a response whose request did not ask for authorized operations."""


class Operation(IntEnum):
    """Operations that an authorizer decides about (Kafka's `AclOperation`)."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class ResourceType(IntEnum):
    """Types of the resources that operations are about (Kafka's `ResourceType`)."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


SUPPORTED_OPERATIONS = {
    ResourceType.TOPIC: frozenset(
        {
            Operation.READ,
            Operation.WRITE,
            Operation.CREATE,
            Operation.DELETE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        }
    ),
    ResourceType.GROUP: frozenset({Operation.READ, Operation.DELETE, Operation.DESCRIBE}),
    ResourceType.CLUSTER: frozenset(
        {
            Operation.CREATE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.CLUSTER_ACTION,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
            Operation.IDEMPOTENT_WRITE,
        }
    ),
    ResourceType.TRANSACTIONAL_ID: frozenset({Operation.WRITE, Operation.DESCRIBE}),
    ResourceType.DELEGATION_TOKEN: frozenset({Operation.DESCRIBE}),
    ResourceType.USER: frozenset({Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS}),
}
"""Operations that a resource type supports."""


def camel_case(member: IntEnum) -> str:
    """Return the name of a member as Kafka writes it in texts, such as "TransactionalId"."""
    return member.name.title().replace("_", "")


def bit_field(operations: Iterable[Operation]) -> int:
    """Return operations as a bit field for responses: the bit at the position of each operation's code is
    set.
    """
    return sum(1 << operation for operation in operations)


ALL_OPERATIONS = {resource: bit_field(operations) for resource, operations in SUPPORTED_OPERATIONS.items()}
"""Bit field of all supported operations, by resource type."""
