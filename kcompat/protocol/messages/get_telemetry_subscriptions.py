"""GetTelemetrySubscriptions: request and response (API key 71)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, boolean, int8, int16, int32, string, uuid


@message("0", flexible="0+", api_key=71)
class GetTelemetrySubscriptionsRequest(Message):
    """Request of a client for the metrics it should push (KIP-714) (key 71, v0)."""

    client_instance_id: Annotated[bytes, uuid("0+")] = ZERO_UUID


@message("0", flexible="0+", api_key=71)
class GetTelemetrySubscriptionsResponse(Message):
    """Response: names of the metrics, and the interval at which to push them (key 71, v0)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    client_instance_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
    subscription_id: Annotated[int, int32("0+")] = 0
    accepted_compression_types: Annotated[list[int], int8("0+")] = []
    push_interval_ms: Annotated[int, int32("0+")] = 0
    telemetry_max_bytes: Annotated[int, int32("0+")] = 0
    delta_temporality: Annotated[bool, boolean("0+")] = False
    requested_metrics: Annotated[list[str], string("0+")] = []
