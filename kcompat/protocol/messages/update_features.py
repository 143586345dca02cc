"""UpdateFeatures: request and response (API key 57)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, int8, int16, int32, string, struct


@message("0-2", flexible="0+", api_key=57)
class UpdateFeaturesRequest(Message):
    """Request to change the finalized features of the cluster (key 57, v0 to v2)."""

    class FeatureUpdateKey(Part):
        feature: Annotated[str, string("0+")] = ""
        max_version_level: Annotated[int, int16("0+")] = 0
        allow_downgrade: Annotated[bool, boolean("0")] = False
        upgrade_type: Annotated[int, int8("1+")] = 1

    timeout_ms: Annotated[int, int32("0+")] = 60000
    feature_updates: Annotated[list[UpdateFeaturesRequest.FeatureUpdateKey], struct("0+")] = []
    validate_only: Annotated[bool, boolean("1+")] = False


@message("0-2", flexible="0+", api_key=57)
class UpdateFeaturesResponse(Message):
    """Response: an error code, up to v1 one for each feature (key 57, v0 to v2)."""

    class UpdatableFeatureResult(Part):
        feature: Annotated[str, string("0-1")] = ""
        error_code: Annotated[int, int16("0-1")] = 0
        error_message: Annotated[str | None, string("0-1", nullable="0-1")] = ""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
    results: Annotated[
        list[UpdateFeaturesResponse.UpdatableFeatureResult], struct("0-1", ignorable=True)
    ] = []
