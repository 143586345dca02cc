"""DescribeClientQuotas: request and response (API key 48)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, float64, int8, int16, int32, string, struct


@message("0-1", flexible="1+", api_key=48)
class DescribeClientQuotasRequest(Message):
    """Request for the quotas that match a filter (key 48, v0 to v1)."""

    class ComponentData(Part):
        entity_type: Annotated[str, string("0+")] = ""
        match_type: Annotated[int, int8("0+")] = 0
        match: Annotated[str | None, string("0+", nullable="0+")] = ""

    components: Annotated[list[DescribeClientQuotasRequest.ComponentData], struct("0+")] = []
    strict: Annotated[bool, boolean("0+")] = False


@message("0-1", flexible="1+", api_key=48)
class DescribeClientQuotasResponse(Message):
    """Response: the quotas by entity (key 48, v0 to v1)."""

    class EntityData(Part):
        entity_type: Annotated[str, string("0+")] = ""
        entity_name: Annotated[str | None, string("0+", nullable="0+")] = ""

    class ValueData(Part):
        key: Annotated[str, string("0+")] = ""
        value: Annotated[float, float64("0+")] = 0.0

    class EntryData(Part):
        entity: Annotated[list[DescribeClientQuotasResponse.EntityData], struct("0+")] = []
        values: Annotated[list[DescribeClientQuotasResponse.ValueData], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
    entries: Annotated[list[DescribeClientQuotasResponse.EntryData] | None, struct("0+", nullable="0+")] = []
