"""The versions of APIs that Kafka 3.9 calls deprecated, because Kafka 4.0 no longer serves them (KIP-896).

The list is what `ApiKeys.isVersionDeprecated` of Kafka 3.9.2 returns; a test compares it with Kafka.
"""

from __future__ import annotations

from typing import Final

from kcompat.protocol.api_keys import ApiKey

NEWEST_DEPRECATED: Final = {
    ApiKey.PRODUCE: 2,
    ApiKey.FETCH: 3,
    ApiKey.LIST_OFFSETS: 0,
    ApiKey.OFFSET_COMMIT: 1,
    ApiKey.OFFSET_FETCH: 0,
    ApiKey.CREATE_TOPICS: 1,
    ApiKey.DELETE_TOPICS: 0,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 1,
    ApiKey.DESCRIBE_ACLS: 0,
    ApiKey.CREATE_ACLS: 0,
    ApiKey.DELETE_ACLS: 0,
    ApiKey.DESCRIBE_CONFIGS: 0,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 0,
    ApiKey.DESCRIBE_LOG_DIRS: 0,
    ApiKey.CREATE_DELEGATION_TOKEN: 0,
    ApiKey.RENEW_DELEGATION_TOKEN: 0,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 0,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 0,
}
"""Newest deprecated version of each API that has any; all older ones are deprecated too."""


def is_deprecated(key: ApiKey, version: int) -> bool:
    """Return whether a version of an API is deprecated."""
    return version <= NEWEST_DEPRECATED.get(key, -1)
