"""BrokerRegistration: request and response (API key 62)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import (
    ZERO_UUID,
    Part,
    boolean,
    int16,
    int32,
    int64,
    string,
    struct,
    uint16,
    uuid,
)


@message("0-4", flexible="0+", api_key=62)
class BrokerRegistrationRequest(Message):
    """Request of a KRaft broker to register with the controller (key 62, v0 to v4)."""

    class Listener(Part):
        name: Annotated[str, string("0+")] = ""
        host: Annotated[str, string("0+")] = ""
        port: Annotated[int, uint16("0+")] = 0
        security_protocol: Annotated[int, int16("0+")] = 0

    class Feature(Part):
        name: Annotated[str, string("0+")] = ""
        min_supported_version: Annotated[int, int16("0+")] = 0
        max_supported_version: Annotated[int, int16("0+")] = 0

    broker_id: Annotated[int, int32("0+")] = 0
    cluster_id: Annotated[str, string("0+")] = ""
    incarnation_id: Annotated[bytes, uuid("0+")] = ZERO_UUID
    listeners: Annotated[list[BrokerRegistrationRequest.Listener], struct("0+")] = []
    features: Annotated[list[BrokerRegistrationRequest.Feature], struct("0+")] = []
    rack: Annotated[str | None, string("0+", nullable="0+")] = ""
    is_migrating_zk_broker: Annotated[bool, boolean("1+")] = False
    log_dirs: Annotated[list[bytes], uuid("2+", ignorable=True)] = []
    previous_broker_epoch: Annotated[int, int64("3+", ignorable=True)] = -1


@message("0-4", flexible="0+", api_key=62)
class BrokerRegistrationResponse(Message):
    """Response: the epoch of the broker's registration (key 62, v0 to v4)."""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    broker_epoch: Annotated[int, int64("0+")] = -1
