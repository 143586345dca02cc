"""UpdateFeatures (key 57), versions 0-2 (KIP-584, KIP-778).

Behaviour
- Each update is checked by itself. A level that cannot be set gets INVALID_REQUEST with Kafka's message
  (`kcompat.controller.features`).
- The response waits until the new levels are in force on this broker, and so in its ApiVersions. Other
  brokers apply them later.
- A broker that is not the controller answers NOT_CONTROLLER for the whole request.

Version notes
- 0: an update says whether it may be a downgrade. 1: an update has a type; a request can ask for validation
  only.
- 2: either all updates are made or none, and the response has only the first error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcompat.controller.features import FeatureUpdate, UpdateFeatures, UpgradeType
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcompat.api.context import RequestContext
    from kcompat.controller.values import TopicOutcome
    from kcompat.promise import Promise

FIRST_WITH_KINDS = 1
FIRST_FOR_ALL_OR_NOTHING = 2

_Row = UpdateFeaturesResponse.UpdatableFeatureResult


def handle(
    context: RequestContext, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse | Promise[UpdateFeaturesResponse]:
    """Update the features through the controller in this process."""
    if not context.may(Operation.ALTER, CLUSTER):
        return _refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    version = context.api_version
    updates = [
        FeatureUpdate(row.feature, row.max_version_level, _kind(row, version))
        for row in request.feature_updates
    ]
    wanted = UpdateFeatures(updates, request.validate_only, version >= FIRST_FOR_ALL_OR_NOTHING)

    def in_force(found: Mapping[str, TopicOutcome] | ErrorCode) -> Promise[UpdateFeaturesResponse]:
        return context.services.cluster.features.read_again().map(lambda _: _response(found, version))

    return context.services.cluster.decisions.update_features(wanted).flat_map(in_force)


def _kind(row: UpdateFeaturesRequest.FeatureUpdateKey, version: int) -> UpgradeType:
    if version < FIRST_WITH_KINDS:
        return UpgradeType.SAFE_DOWNGRADE if row.allow_downgrade else UpgradeType.UPGRADE
    known = row.upgrade_type in list(UpgradeType)
    return UpgradeType(row.upgrade_type) if known else UpgradeType.UNKNOWN


def _response(found: Mapping[str, TopicOutcome] | ErrorCode, version: int) -> UpdateFeaturesResponse:
    if isinstance(found, ErrorCode):
        return _refusal(found)
    wrong = next((outcome for outcome in found.values() if outcome.error), None)
    if version >= FIRST_FOR_ALL_OR_NOTHING and wrong is not None:
        return _refusal(
            wrong.error,
            f"The update failed for all features since the following feature had an error: {wrong.message}",
        )
    rows = [_Row(feature, outcome.error, outcome.message) for feature, outcome in found.items()]
    return UpdateFeaturesResponse(error_message=None, results=rows)


def _refusal(error: ErrorCode, message: str | None = None) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=error, error_message=message or error.message)
