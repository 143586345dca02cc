"""Features whose level can be changed while the cluster runs (KIP-584, KIP-1022), and their encoding in
`/feature` and in registrations. Pure.

A broker registers the levels that it supports. The finalized level holds for the whole cluster; a feature
that is not finalized is at level 0. Kafka's counterparts: `BrokerFeatures`, `FeatureZNode`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from kcompat.cluster.payloads import DamagedZnodeError, field, json_object, optional_field

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP_VERSION: Final = "group.version"
TRANSACTION_VERSION: Final = "transaction.version"
SHARE_VERSION: Final = "share.version"
STREAMS_VERSION: Final = "streams.version"

FIRST_LEVEL: Final = 1
"""Lowest level to which a feature can be finalized."""

_OLDEST_FORM, _NEWEST_FORM = 1, 2
_DISABLED, _ENABLED = 0, 1


class Levels(Struct, frozen=True):
    """Range of the levels of one feature that a broker supports, both ends included."""

    lowest: int
    highest: int

    def __contains__(self, level: int) -> bool:
        return self.lowest <= level <= self.highest


SUPPORTED: Final[Mapping[str, Levels]] = {
    GROUP_VERSION: Levels(0, 1),
    TRANSACTION_VERSION: Levels(0, 2),
    SHARE_VERSION: Levels(0, 1),
    STREAMS_VERSION: Levels(0, 1),
}
"""Levels that this broker supports, by feature. A new cluster on kcompat's own store starts at the highest
levels.
"""

HIGHEST_LEVELS: Final[Mapping[str, int]] = {name: levels.highest for name, levels in SUPPORTED.items()}


def are_supported(finalized: Mapping[str, int], supported: Mapping[str, Levels]) -> bool:
    """Return whether a broker that supports the levels `supported` may join a cluster with these finalized
    levels.
    """
    return all(name in supported and level in supported[name] for name, level in finalized.items())


# -- `/feature` ------------------------------------------------------------------------------------------


def encode_finalized(levels: Mapping[str, int]) -> bytes:
    """Encode the payload of `/feature`, version 2, of a cluster whose features can be changed (status 1)."""
    features = {name: {"max_version_level": level} for name, level in levels.items()}
    return msgspec.json.encode({"version": _NEWEST_FORM, "status": _ENABLED, "features": features})


def decode_finalized(data: bytes) -> dict[str, int] | None:
    """Return the finalized levels by feature from the payload of `/feature`; None if features are disabled,
    as brokers before 2.7 leave them.
    """
    payload = json_object(data)
    if not _OLDEST_FORM <= field(payload, "version", int) <= _NEWEST_FORM:
        raise DamagedZnodeError("its version is not known")
    status = field(payload, "status", int)
    if status not in (_DISABLED, _ENABLED):
        raise DamagedZnodeError("its status is not known")
    features = field(payload, "features", dict[str, dict[str, int]])
    levels = {name: field(versions, "max_version_level", int) for name, versions in features.items()}
    if any(level < FIRST_LEVEL for level in levels.values()):
        raise DamagedZnodeError(f"a feature is finalized below level {FIRST_LEVEL}")
    return levels if status == _ENABLED else None


# -- `features` in `/brokers/ids/<id>` ---------------------------------------------------------------------


def supported_payload(supported: Mapping[str, Levels]) -> dict[str, dict[str, int]]:
    """Return the payload of the supported levels in a registration.

    Level 0, which means "not finalized", is left out, as brokers before 3.9 cannot read it.
    """
    return {
        name: {"min_version": max(levels.lowest, FIRST_LEVEL), "max_version": levels.highest}
        for name, levels in supported.items()
    }


def supported_of(registration: Mapping[str, Any]) -> dict[str, Levels]:
    """Return the supported levels in a broker's registration; registrations before version 5 have none."""
    features = optional_field(registration, "features", dict[str, dict[str, int]], {})
    return {
        name: Levels(field(versions, "min_version", int), field(versions, "max_version", int))
        for name, versions in features.items()
    }
