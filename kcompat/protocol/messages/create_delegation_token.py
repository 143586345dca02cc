"""CreateDelegationToken: request and response (API key 38)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, binary, int16, int32, int64, string, struct


@message("0-3", flexible="2+", api_key=38)
class CreateDelegationTokenRequest(Message):
    """Request to create a delegation token (key 38, v0 to v3)."""

    class CreatableRenewers(Part):
        principal_type: Annotated[str, string("0+")] = ""
        principal_name: Annotated[str, string("0+")] = ""

    owner_principal_type: Annotated[str | None, string("3+", nullable="3+")] = ""
    owner_principal_name: Annotated[str | None, string("3+", nullable="3+")] = ""
    renewers: Annotated[list[CreateDelegationTokenRequest.CreatableRenewers], struct("0+")] = []
    max_lifetime_ms: Annotated[int, int64("0+")] = 0


@message("0-3", flexible="2+", api_key=38)
class CreateDelegationTokenResponse(Message):
    """Response: the token and its HMAC (key 38, v0 to v3)."""

    error_code: Annotated[int, int16("0+")] = 0
    principal_type: Annotated[str, string("0+")] = ""
    principal_name: Annotated[str, string("0+")] = ""
    token_requester_principal_type: Annotated[str, string("3+")] = ""
    token_requester_principal_name: Annotated[str, string("3+")] = ""
    issue_timestamp_ms: Annotated[int, int64("0+")] = 0
    expiry_timestamp_ms: Annotated[int, int64("0+")] = 0
    max_timestamp_ms: Annotated[int, int64("0+")] = 0
    token_id: Annotated[str, string("0+")] = ""
    hmac: Annotated[bytes, binary("0+")] = b""
    throttle_time_ms: Annotated[int, int32("0+")] = 0
