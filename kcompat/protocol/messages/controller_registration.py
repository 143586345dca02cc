"""ControllerRegistration: request and response (API key 70)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import ZERO_UUID, Part, boolean, int16, int32, string, struct, uint16, uuid


@message("0", flexible="0+", api_key=70)
class ControllerRegistrationRequest(Message):
    """Request of a KRaft controller to register with the active one (key 70, v0)."""

    class Listener(Part):
        name: Annotated[str, string("0+")] = ""
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, uint16("0+")] = 0
        security_protocol: Annotated[int, int16("0+")] = 0

    class Feature(Part):
        name: Annotated[str, string("0+")] = ""
        min_supported_version: Annotated[int, int16("0+")] = 0
        max_supported_version: Annotated[int, int16("0+")] = 0

    controller_id: Annotated[int, int32("0+")] = 0
    incarnation_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
    zk_migration_ready: Annotated[bool, boolean("0+")] = False
    listeners: Annotated[list[ControllerRegistrationRequest.Listener], struct("0+")] = []
    features: Annotated[list[ControllerRegistrationRequest.Feature], struct("0+")] = []


@message("0", flexible="0+", api_key=70)
class ControllerRegistrationResponse(Message):
    """Response: an error code (key 70, v0)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
