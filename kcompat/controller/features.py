"""What clients want of the finalized features of the cluster (UpdateFeatures, KIP-584). Pure.

With ZooKeeper there is none: no release of Kafka supports a feature there that could be finalized, and a
broker of Kafka ends where `/feature` names one. So each update is refused for what is first wrong with it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.controller.state import Decision
from kcompat.controller.values import Outcome
from kcompat.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcompat.controller.state import ControllerState

FIRST_LEVEL = 1


class UpgradeType(IntEnum):
    """How far an update may go, by Kafka's codes."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(Struct, frozen=True):
    """The level that a feature is to have; a downgrade to less than the first one removes it."""

    feature: str
    level: int
    kind: UpgradeType


class UpdateFeatures(Struct, frozen=True):
    """Change finalized features; each by itself."""

    updates: Sequence[FeatureUpdate]

    def decide(self, state: ControllerState) -> Decision[dict[str, Outcome] | ErrorCode]:
        """Refuse each, by the name of its feature."""
        return Decision(
            state,
            {
                update.feature: Outcome(ErrorCode.INVALID_REQUEST, _what_is_wrong(update))
                for update in self.updates
            },
        )

    def refused(self, error: ErrorCode) -> dict[str, Outcome] | ErrorCode:
        """The error of the whole."""
        return error


def _what_is_wrong(update: FeatureUpdate) -> str:
    if not update.feature:
        return "Feature name can not be empty."
    if update.kind is UpgradeType.UNKNOWN:
        return "Received unknown upgrade type."
    if update.level < FIRST_LEVEL:
        if update.kind is not UpgradeType.UPGRADE:
            return "Can not delete non-existing finalized feature."
        return (
            f"Can not provide versionLevel: {update.level} less than {FIRST_LEVEL} without setting the SAFE "
            "downgradeType in the request."
        )
    return "Could not apply finalized feature update because the provided feature is not supported."
