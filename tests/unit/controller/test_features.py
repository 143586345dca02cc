"""Which changes of finalized features are made."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kcompat.cluster.feature_levels import SUPPORTED, Levels, decode_finalized
from kcompat.controller.features import FeatureUpdate, UpdateFeatures, UpgradeType
from kcompat.controller.state import ABSENT, ControllerState
from kcompat.controller.values import TopicOutcome
from kcompat.protocol.errors import ErrorCode
from kcompat.store.interface import Create, SetData

NAME = "transaction.version"
UP, DOWN, FAR_DOWN = UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE


def at(state: ControllerState, level: int) -> ControllerState:
    """This state with brokers that can do all, and the feature at a level; 0: it is not finalized."""
    brokers = {each: replace(broker, features=SUPPORTED) for each, broker in state.brokers.items()}
    return replace(state, brokers=brokers, finalized={NAME: level} if level else {}, features_version=4)


def update(state: ControllerState, level: int, kind: UpgradeType) -> tuple[int, str | None]:
    """Return the level of the feature after an update, and the error message."""
    decision = UpdateFeatures([FeatureUpdate(NAME, level, kind)]).decide(state)
    assert isinstance(decision.answer, dict)
    (outcome,) = decision.answer.values()
    after = decision.state.finalized.get(NAME, 0)
    for op in decision.writes:
        assert isinstance(op, SetData)
        assert (op.path, op.version, decision.state.features_version) == ("/feature", 4, 5)
        assert op.data is not None
        assert decode_finalized(op.data) == decision.state.finalized
    assert bool(decision.writes) == (after != state.finalized.get(NAME, 0))
    assert (outcome.error == ErrorCode.NONE) == (outcome.message is None)
    return after, outcome.message


@pytest.mark.parametrize(
    ("before", "level", "kind"),
    [(0, 1, UP), (0, 2, UP), (1, 2, UP), (2, 1, DOWN), (0, 1, DOWN), (1, 0, DOWN), (2, 0, FAR_DOWN)],
)
def test_what_may_be(one: ControllerState, before: int, level: int, kind: UpgradeType) -> None:
    assert update(at(one, before), level, kind) == (level, None)


@pytest.mark.parametrize(
    ("before", "level", "kind", "reason"),
    [
        (1, 1, UP, "Can not upgrade a finalized feature from existing versionLevel:1 to the same value."),
        (1, 1, DOWN, "Can not downgrade a finalized feature from existing versionLevel:1 to the same value."),
        (2, 1, UP, "Can not downgrade finalized feature from existing versionLevel:2 to provided "
                   "versionLevel:1 without setting the downgradeType to SAFE in the request."),
        (2, 1, FAR_DOWN, "Can not downgrade finalized feature from existing versionLevel:2 to provided "
                         "versionLevel:1 without setting the downgradeType to SAFE in the request."),
        (1, 2, DOWN, "When the downgradeType is set to SAFE in the request, the provided versionLevel:2 can "
                     "not be greater than existing versionLevel:1."),
        (2, 3, UP, "Could not apply finalized feature update because the provided versionLevel:3 is higher "
                   "than the supported maxVersion:2."),
        (2, 0, UP, "Can not provide versionLevel: 0 less than 1 without setting the SAFE downgradeType in "
                   "the request."),
        (0, 0, DOWN, "Can not delete non-existing finalized feature."),
    ],
)  # fmt: skip
def test_what_may_not_be(
    one: ControllerState, before: int, level: int, kind: UpgradeType, reason: str
) -> None:
    assert update(at(one, before), level, kind) == (before, reason)


def test_every_broker_has_to_be_able_to(three: ControllerState) -> None:
    able = at(three, 0)
    assert update(able, 2, UP) == (2, None)
    some = {**able.brokers, 3: replace(able.brokers[3], features={NAME: Levels(1, 1)})}
    assert update(replace(able, brokers=some), 1, UP) == (1, None)
    assert update(replace(able, brokers=some), 2, UP)[0] == 0


def test_the_node_is_made_where_there_is_none(one: ControllerState) -> None:
    state = replace(at(one, 0), features_version=ABSENT)
    decision = UpdateFeatures([FeatureUpdate(NAME, 2, UP)]).decide(state)
    (op,) = decision.writes
    assert isinstance(op, Create)
    assert op.data is not None
    assert decode_finalized(op.data) == {NAME: 2}
    assert (decision.state.features_version, decision.answer) == (0, {NAME: TopicOutcome()})
