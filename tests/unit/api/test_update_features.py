"""UpdateFeatures."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import update_features
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.update_features import UpdateFeaturesRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying
from support.cluster_world import ClusterWorld

Update = UpdateFeaturesRequest.FeatureUpdateKey

UNSUPPORTED = "Could not apply finalized feature update because the provided feature is not supported."
ABSENT = "Can not delete non-existing finalized feature."
TOO_LOW = "Can not provide versionLevel: 0 less than 1 without setting the SAFE downgradeType in the request."


def rows(response: Any) -> dict[str, tuple[int, str | None]]:
    assert (response.error_code, response.error_message) == (0, None)
    return {row.feature: (row.error_code, row.error_message) for row in response.results}


def refusal(response: Any) -> ErrorCode:
    error = ErrorCode(response.error_code)
    assert (response.error_message, response.results) == (error.message, [])
    return error


def refused(**reasons: str) -> dict[str, tuple[int, str]]:
    return {feature: (ErrorCode.INVALID_REQUEST, reason) for feature, reason in reasons.items()}


async def test_at_first_a_downgrade_is_allowed_or_not() -> None:
    updates = [
        Update("up", 3),
        Update("down", 1, allow_downgrade=True),
        Update("gone", 0, allow_downgrade=True),
        Update("low", 0),
    ]
    async with ClusterWorld() as world:
        response = await world.ask(update_features, 0, UpdateFeaturesRequest(feature_updates=updates))
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
    async with ClusterWorld() as world:
        response = await world.ask(update_features, 1, request)
    unknown = "Received unknown upgrade type."
    assert rows(response) == {
        **refused(up=UNSUPPORTED, down=UNSUPPORTED, far_down=ABSENT, low=TOO_LOW, odd=unknown, odder=unknown),
        "": (ErrorCode.INVALID_REQUEST, "Feature name can not be empty."),
    }


async def test_at_last_one_that_is_wrong_stops_all() -> None:
    updates = [Update("low", 0), Update("up", 1)]
    async with ClusterWorld() as world:
        response = await world.ask(update_features, 2, UpdateFeaturesRequest(feature_updates=updates))
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message == (
        f"The update failed for all features since the following feature had an error: {TOO_LOW}"
    )


@pytest.mark.parametrize("version", range(3))
async def test_nothing_asked_no_controller_and_no_permission(version: int) -> None:
    async with ClusterWorld() as world:
        assert rows(await world.ask(update_features, version, UpdateFeaturesRequest())) == {}
        request = UpdateFeaturesRequest(feature_updates=[Update("up", 1)])
        await world.candidacy.stop()
        response = await world.ask(update_features, version, request)
        assert refusal(response) == ErrorCode.NOT_CONTROLLER
        world.authorizer = Denying((Operation.ALTER, CLUSTER))
        response = await world.ask(update_features, version, request)
        assert refusal(response) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
