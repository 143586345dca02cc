"""DescribeUserScramCredentials: request and response (API key 50)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, int8, int16, int32, string, struct


@message("0", flexible="0+", api_key=50)
class DescribeUserScramCredentialsRequest(Message):
    """Request for the SCRAM credentials that users have (key 50, v0)."""

    class UserName(Part):
        name: Annotated[str, string("0+")] = ""

    users: Annotated[
        list[DescribeUserScramCredentialsRequest.UserName] | None, struct("0+", nullable="0+")
    ] = []


@message("0", flexible="0+", api_key=50)
class DescribeUserScramCredentialsResponse(Message):
    """Response: mechanisms and iterations of each user, without secrets (key 50, v0)."""

    class CredentialInfo(Part):
        mechanism: Annotated[int, int8("0+")] = 0
        iterations: Annotated[int, int32("0+")] = 0

    class DescribeUserScramCredentialsResult(Part):
        user: Annotated[str, string("0+")] = ""
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
        credential_infos: Annotated[
            list[DescribeUserScramCredentialsResponse.CredentialInfo], struct("0+")
        ] = []

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    error_code: Annotated[int, int16("0+")] = 0
    error_message: Annotated[str | None, string("0+", nullable="0+")] = ""
    results: Annotated[
        list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult], struct("0+")
    ] = []
