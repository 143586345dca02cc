"""Changes of the finalized features that clients request (UpdateFeatures, KIP-584). Pure.

Kafka's counterpart: `KafkaController.processFeatureUpdates`. Kafka releases with ZooKeeper support no
feature, so only their refusals can be compared.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcompat.cluster.feature_levels import FIRST_LEVEL, SUPPORTED, are_supported, encode_finalized
from kcompat.cluster.znodes import FEATURE
from kcompat.controller.state import ABSENT, Decision
from kcompat.controller.values import TopicOutcome
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, SetData

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcompat.controller.state import ControllerState
    from kcompat.store.interface import Op


class UpgradeType(IntEnum):
    """Kinds of an update, by Kafka's codes: upgrade, safe or unsafe downgrade."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(Struct, frozen=True):
    """Requested level of a feature; a level below 1 removes the feature."""

    feature: str
    level: int
    kind: UpgradeType

    @property
    def removes(self) -> bool:
        """Whether the update removes the feature from the finalized ones."""
        return self.level < FIRST_LEVEL and self.kind is not UpgradeType.UPGRADE


class UpdateFeatures(Struct, frozen=True):
    """Event: change finalized features, each by itself or `all_or_nothing`. `validate_only` changes none."""

    updates: Sequence[FeatureUpdate]
    validate_only: bool = False
    all_or_nothing: bool = False

    def decide(self, state: ControllerState) -> Decision[dict[str, TopicOutcome] | ErrorCode]:
        """Decide each update; the answer has an outcome by the name of the feature."""
        levels, outcomes = dict(state.finalized), dict[str, TopicOutcome]()
        for update in self.updates:
            wrong = _what_is_wrong(update, state)
            if wrong is not None:
                outcomes[update.feature] = TopicOutcome(ErrorCode.INVALID_REQUEST, wrong)
                continue
            outcomes[update.feature] = TopicOutcome()
            if update.removes:
                del levels[update.feature]
            else:
                levels[update.feature] = update.level
        is_refused = self.all_or_nothing and any(each.error for each in outcomes.values())
        if self.validate_only or is_refused or levels == state.finalized:
            return Decision(state, outcomes)
        after = replace(state, finalized=levels, features_version=state.features_version + 1)
        return Decision(after, outcomes, [_write(levels, state.features_version)])

    def refused(self, error: ErrorCode) -> dict[str, TopicOutcome] | ErrorCode:
        """Return `error` as that of the whole request."""
        return error


def _write(levels: Mapping[str, int], version: int) -> Op:
    data = encode_finalized(levels)
    return Create(FEATURE, data) if version == ABSENT else SetData(FEATURE, data, version)


def _what_is_wrong(update: FeatureUpdate, state: ControllerState) -> str | None:
    if not update.feature:
        return "Feature name can not be empty."
    if update.kind is UpgradeType.UNKNOWN:
        return "Received unknown upgrade type."
    level, existing = update.level, state.finalized.get(update.feature)
    if update.removes:
        return None if existing is not None else "Can not delete non-existing finalized feature."
    if level < FIRST_LEVEL:
        return (
            f"Can not provide versionLevel: {level} less than {FIRST_LEVEL} without setting the SAFE "
            "downgradeType in the request."
        )
    if existing is not None and (wrong := _wrong_step(update, existing)):
        return wrong
    return _what_brokers_lack(update, state)


def _wrong_step(update: FeatureUpdate, existing: int) -> str | None:
    """Return the reason to refuse a change from one level to another, or None."""
    if update.level == existing:
        step = "downgrade" if update.kind is UpgradeType.SAFE_DOWNGRADE else "upgrade"
        return f"Can not {step} a finalized feature from existing versionLevel:{existing} to the same value."
    if update.level < existing and update.kind is not UpgradeType.SAFE_DOWNGRADE:
        return (
            f"Can not downgrade finalized feature from existing versionLevel:{existing} to provided "
            f"versionLevel:{update.level} without setting the downgradeType to SAFE in the request."
        )
    if update.level > existing and update.kind is not UpgradeType.UPGRADE:
        return (
            "When the downgradeType is set to SAFE in the request, the provided "
            f"versionLevel:{update.level} can not be greater than existing versionLevel:{existing}."
        )
    return None


def _what_brokers_lack(update: FeatureUpdate, state: ControllerState) -> str | None:
    supported = SUPPORTED.get(update.feature)
    if supported is None:
        return "Could not apply finalized feature update because the provided feature is not supported."
    if update.level not in supported:
        return (
            f"Could not apply finalized feature update because the provided versionLevel:{update.level} is "
            f"higher than the supported maxVersion:{supported.highest}."
        )
    wanted = {update.feature: update.level}
    if not all(are_supported(wanted, broker.features) for broker in state.brokers.values()):
        return (
            "Could not apply finalized feature update because brokers were found to have incompatible "
            "versions for the feature."
        )
    return None
