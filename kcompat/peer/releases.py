"""The versions of requests that may be sent under an `inter.broker.protocol.version`.

While brokers are upgraded one by one, the old ones understand no newer requests than their own, and would
misread replies to newer ones. The operator raises the release when all brokers are new. The requests that
Kafka bounds by the release are bounded here; for all others the peer's own ranges decide. Kafka's
counterpart: `MetadataVersion`.
"""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

from kcompat.config.validators import significant_version
from kcompat.protocol.api_keys import API_FACTS, ApiKey

Release: TypeAlias = tuple[int, int, int, int]
"""A release of Kafka as numbers that compare: major, minor, patch (of 0.x only) and internal version. Thus
"3.9-IV0" is (3, 9, 0, 0).
"""

_LAST_INTERNAL: Final = 99


def release(text: str) -> Release:
    """Return the release with this name; without an internal version, the last one of that release."""
    numbers, _, internal = significant_version(text).partition("-IV")
    major, minor, *rest = (int(part) for part in numbers.split("."))
    return major, minor, rest[0] if rest else 0, int(internal) if internal else _LAST_INTERNAL


def _since(*steps: tuple[str, int]) -> tuple[tuple[Release, int], ...]:
    return tuple((release(text), version) for text, version in steps)


_LIMITS: Final[dict[ApiKey, tuple[tuple[Release, int], ...]]] = {
    ApiKey.FETCH: _since(
        ("3.9-IV0", 17),
        ("3.7-IV4", 16),
        ("3.5-IV1", 15),
        ("3.5-IV0", 14),
        ("3.1-IV0", 13),
        ("2.7-IV1", 12),
        ("2.3-IV1", 11),
        ("2.1-IV2", 10),
        ("2.0-IV1", 8),
        ("1.1-IV0", 7),
        ("0.11.0-IV1", 5),
        ("0.11.0-IV0", 4),
        ("0.10.1-IV1", 3),
        ("0.10.0-IV0", 2),
        ("0.9.0", 1),
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _since(("2.8-IV0", 4), ("2.3-IV1", 3), ("2.1-IV1", 2), ("2.0-IV0", 1)),
    ApiKey.LIST_OFFSETS: _since(
        ("3.9-IV0", 9),
        ("3.5-IV0", 8),
        ("3.0-IV1", 7),
        ("2.8-IV0", 6),
        ("2.2-IV1", 5),
        ("2.1-IV1", 4),
        ("2.0-IV1", 3),
        ("0.11.0-IV0", 2),
        ("0.10.1-IV2", 1),
    ),
    ApiKey.LEADER_AND_ISR: _since(
        ("3.4-IV0", 7),
        ("3.2-IV0", 6),
        ("2.8-IV1", 5),
        ("2.4-IV1", 4),
        ("2.4-IV0", 3),
        ("2.2-IV0", 2),
        ("1.0-IV0", 1),
    ),
    ApiKey.STOP_REPLICA: _since(("3.4-IV0", 4), ("2.6-IV0", 3), ("2.4-IV1", 2), ("2.2-IV0", 1)),
    ApiKey.UPDATE_METADATA: _since(
        ("3.4-IV0", 8),
        ("2.8-IV1", 7),
        ("2.4-IV1", 6),
        ("2.2-IV0", 5),
        ("1.0-IV0", 4),
        ("0.10.2-IV0", 3),
        ("0.10.0-IV1", 2),
        ("0.9.0", 1),
    ),
    ApiKey.CONTROLLED_SHUTDOWN: _since(("2.4-IV1", 3), ("2.2-IV0", 2), ("0.9.0", 1)),
    ApiKey.WRITE_TXN_MARKERS: _since(("2.8-IV0", 1)),
}


@cache
def latest(key: ApiKey, limit: Release | None) -> int:
    """Return the last version of a request that may be sent under a release, whatever the peer serves.

    Without a release, that is the last one declared.
    """
    declared = API_FACTS[key].latest_stable
    steps = _LIMITS.get(key)
    if steps is None or limit is None:
        return declared
    return min(declared, next((version for since, version in steps if limit >= since), 0))
