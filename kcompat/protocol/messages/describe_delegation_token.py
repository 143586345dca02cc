"""DescribeDelegationToken: request and response (API key 41)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, binary, int16, int32, int64, string, struct


@message("0-3", flexible="2+", api_key=41)
class DescribeDelegationTokenRequest(Message):
    """Request for the delegation tokens of owners (key 41, v0 to v3)."""

    class DescribeDelegationTokenOwner(Part):
        principal_type: Annotated[str, string("0+")] = ""
        principal_name: Annotated[str, string("0+")] = ""

    owners: Annotated[
        list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None, struct("0+", nullable="0+")
    ] = []


@message("0-3", flexible="2+", api_key=41)
class DescribeDelegationTokenResponse(Message):
    """Response: the tokens (key 41, v0 to v3)."""

    class DescribedDelegationTokenRenewer(Part):
        principal_type: Annotated[str, string("0+")] = ""
        principal_name: Annotated[str, string("0+")] = ""

    class DescribedDelegationToken(Part):
        principal_type: Annotated[str, string("0+")] = ""
        principal_name: Annotated[str, string("0+")] = ""
        token_requester_principal_type: Annotated[str, string("3+")] = ""
        token_requester_principal_name: Annotated[str, string("3+")] = ""
        issue_timestamp: Annotated[int, int64("0+")] = 0
        expiry_timestamp: Annotated[int, int64("0+")] = 0
        max_timestamp: Annotated[int, int64("0+")] = 0
        token_id: Annotated[str, string("0+")] = ""
        hmac: Annotated[bytes, binary("0+")] = b""
        renewers: Annotated[
            list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer], struct("0+")
        ] = []

    error_code: Annotated[int, int16("0+")] = 0
    tokens: Annotated[list[DescribeDelegationTokenResponse.DescribedDelegationToken], struct("0+")] = []
    throttle_time_ms: Annotated[int, int32("0+")] = 0
