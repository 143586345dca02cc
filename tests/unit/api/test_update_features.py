"""The handler of UpdateFeatures."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import update_features
from kcompat.cluster.feature_levels import HIGHEST_LEVELS, SUPPORTED
from kcompat.cluster.znodes import BrokerRegistration, broker_path, encode_broker
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.update_features import UpdateFeaturesRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying
from support.cluster_of_one import ClusterFixture

Update = UpdateFeaturesRequest.FeatureUpdateKey

TRANSACTIONS, GROUPS = "transaction.version", "group.version"
UNSUPPORTED = "Could not apply finalized feature update because the provided feature is not supported."
ABSENT = "Can not delete non-existing finalized feature."
TOO_LOW = "Can not provide versionLevel: 0 less than 1 without setting the SAFE downgradeType in the request."


def rows(response: Any) -> dict[str, tuple[int, str | None]]:
    assert (response.error_code, response.error_message) == (0, None)
    return {row.feature: (row.error_code, row.error_message) for row in response.results}


def refusal(response: Any) -> ErrorCode:
    error = error_of(response.error_code)
    assert (response.error_message, response.results) == (error.message, [])
    return error


def changed(response: Any) -> bool:
    """Whether the only update was made, whatever the version."""
    assert response.error_message is None
    assert not response.results or rows(response) == {TRANSACTIONS: (0, None)}
    return not response.error_code


def refused(**reasons: str) -> dict[str, tuple[int, str]]:
    return {feature: (ErrorCode.INVALID_REQUEST, reason) for feature, reason in reasons.items()}


async def test_at_first_a_downgrade_is_allowed_or_not() -> None:
    updates = [
        Update("up", 3),
        Update("down", 1, allow_downgrade=True),
        Update("gone", 0, allow_downgrade=True),
        Update("low", 0),
    ]
    async with ClusterFixture() as fixture:
        response = await fixture.ask(update_features, 0, UpdateFeaturesRequest(feature_updates=updates))
    assert rows(response) == refused(up=UNSUPPORTED, down=UNSUPPORTED, gone=ABSENT, low=TOO_LOW)


@pytest.mark.parametrize("validate_only", [False, True])
async def test_later_there_are_kinds_of_updates(validate_only: bool) -> None:
    updates = [
        Update("up", 3, upgrade_type=1),
        Update("down", 1, upgrade_type=2),
        Update("far_down", 0, upgrade_type=3),
        Update("low", 0, upgrade_type=1),
        Update("odd", 1, upgrade_type=0),
        Update("odder", 0, upgrade_type=9),
        Update("", 1),
    ]
    request = UpdateFeaturesRequest(feature_updates=updates, validate_only=validate_only)
    async with ClusterFixture() as fixture:
        response = await fixture.ask(update_features, 1, request)
    unknown = "Received unknown upgrade type."
    assert rows(response) == {
        **refused(up=UNSUPPORTED, down=UNSUPPORTED, far_down=ABSENT, low=TOO_LOW, odd=unknown, odder=unknown),
        "": (ErrorCode.INVALID_REQUEST, "Feature name can not be empty."),
    }


async def test_at_last_one_that_is_wrong_stops_all() -> None:
    updates = [Update("low", 0), Update("up", 1)]
    async with ClusterFixture() as fixture:
        response = await fixture.ask(update_features, 2, UpdateFeaturesRequest(feature_updates=updates))
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message == (
        f"The update failed for all features since the following feature had an error: {TOO_LOW}"
    )


@pytest.mark.parametrize("version", range(3))
async def test_nothing_asked_no_controller_and_no_permission(version: int) -> None:
    async with ClusterFixture() as fixture:
        assert rows(await fixture.ask(update_features, version, UpdateFeaturesRequest())) == {}
        request = UpdateFeaturesRequest(feature_updates=[Update("up", 1)])
        await fixture.controller_election.stop()
        response = await fixture.ask(update_features, version, request)
        assert refusal(response) == ErrorCode.NOT_CONTROLLER
        fixture.authorizer = Denying((Operation.ALTER, CLUSTER))
        response = await fixture.ask(update_features, version, request)
        assert refusal(response) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("version", range(3))
async def test_a_level_goes_down_and_up_and_is_told_at_once(version: int) -> None:
    def to(level: int) -> UpdateFeaturesRequest:
        old = Update(TRANSACTIONS, level, allow_downgrade=level < 2)
        new = Update(TRANSACTIONS, level, upgrade_type=1 if level == 2 else 2)
        return UpdateFeaturesRequest(feature_updates=[new if version else old])

    async with ClusterFixture() as fixture:
        told = [(fixture.features.epoch, fixture.features.levels.get(TRANSACTIONS))]
        for level in (1, 2, 0):
            assert changed(await fixture.ask(update_features, version, to(level)))
            told.append((fixture.features.epoch, fixture.features.levels.get(TRANSACTIONS)))
        assert fixture.features.level(GROUPS) == 1
    assert told == [(0, 2), (1, 1), (2, 2), (3, None)]


@pytest.mark.parametrize("version", [1, 2])
async def test_what_is_only_validated_changes_nothing(version: int) -> None:
    lower = [Update(TRANSACTIONS, 1, upgrade_type=2)]
    request = UpdateFeaturesRequest(feature_updates=lower, validate_only=True)
    async with ClusterFixture() as fixture:
        assert changed(await fixture.ask(update_features, version, request))
        assert (fixture.features.epoch, fixture.features.levels) == (0, HIGHEST_LEVELS)


async def test_of_several_updates_those_are_made_that_can_be_but_at_last_all_or_none() -> None:
    updates = [Update(TRANSACTIONS, 1, upgrade_type=2), Update("up", 1)]
    request = UpdateFeaturesRequest(feature_updates=updates)
    async with ClusterFixture() as fixture:
        response = await fixture.ask(update_features, 2, request)
        assert response.error_code == ErrorCode.INVALID_REQUEST
        assert fixture.features.level(TRANSACTIONS) == 2
        response = await fixture.ask(update_features, 1, request)
        assert rows(response) == {TRANSACTIONS: (0, None), **refused(up=UNSUPPORTED)}
        assert fixture.features.level(TRANSACTIONS) == 1


async def test_a_level_is_not_to_be_had_where_a_broker_lacks_it_and_such_a_broker_is_left_alone() -> None:
    raised = UpdateFeaturesRequest(feature_updates=[Update(TRANSACTIONS, 2)])
    removed = UpdateFeaturesRequest(feature_updates=[Update(name, 0, upgrade_type=2) for name in SUPPORTED])
    async with ClusterFixture() as fixture:
        assert changed(await fixture.ask(update_features, 2, removed))
        await fixture.register(2, features={})
        lacking = (
            "Could not apply finalized feature update because brokers were found to have incompatible "
            "versions for the feature."
        )
        assert rows(await fixture.ask(update_features, 1, raised)) == {
            TRANSACTIONS: (ErrorCode.INVALID_REQUEST, lacking)
        }
    async with ClusterFixture() as fixture:
        await fixture.register(2)
        session = await fixture.store.session()
        old = BrokerRegistration({"PLAINTEXT": ("h3", 9092)}, {"PLAINTEXT": "PLAINTEXT"})
        await session.create(broker_path(3), encode_broker(old, 0), ephemeral=True)
        await fixture.register(4)
        assert sorted(fixture.cluster.image.brokers) == [1, 2, 4]
