"""AlterClientQuotas: request and response (API key 49)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, boolean, float64, int16, int32, string, struct


@message("0-1", flexible="1+", api_key=49)
class AlterClientQuotasRequest(Message):
    """Request to set or remove quotas (key 49, v0 to v1)."""

    class EntityData(Part):
        entity_type: Annotated[str, string("0+")] = ""
        entity_name: Annotated[str | None, string("0+", nullable="0+")] = ""

    class OpData(Part):
        key: Annotated[str, string("0+")] = ""
        value: Annotated[float, float64("0+")] = 0.0
        remove: Annotated[bool, boolean("0+")] = False

    class EntryData(Part):
        entity: Annotated[list[AlterClientQuotasRequest.EntityData], struct("0+")] = []
        ops: Annotated[list[AlterClientQuotasRequest.OpData], struct("0+")] = []

    entries: Annotated[list[AlterClientQuotasRequest.EntryData], struct("0+")] = []
    validate_only: Annotated[bool, boolean("0+")] = False


@message("0-1", flexible="1+", api_key=49)
class AlterClientQuotasResponse(Message):
    """Response: an error code for each entity (key 49, v0 to v1)."""

    class EntityData(Part):
        entity_type: Annotated[str, string("0+")] = ""
        entity_name: Annotated[str | None, string("0+", nullable="0+")] = ""

    class EntryData(Part):
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
        entity: Annotated[list[AlterClientQuotasResponse.EntityData], struct("0+")] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    entries: Annotated[list[AlterClientQuotasResponse.EntryData], struct("0+")] = []
