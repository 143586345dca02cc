"""AlterUserScramCredentials: request and response (API key 51)."""

from __future__ import annotations

from typing import Annotated

from kcompat.protocol.message import Message, message
from kcompat.protocol.schema import Part, binary, int8, int16, int32, string, struct


@message("0", flexible="0+", api_key=51)
class AlterUserScramCredentialsRequest(Message):
    """Request to set or delete SCRAM credentials (key 51, v0)."""

    class ScramCredentialDeletion(Part):
        name: Annotated[str, string("0+")] = ""
        mechanism: Annotated[int, int8("0+")] = 0

    class ScramCredentialUpsertion(Part):
        name: Annotated[str, string("0+")] = ""
        mechanism: Annotated[int, int8("0+")] = 0
        iterations: Annotated[int, int32("0+")] = 0
        salt: Annotated[bytes, binary("0+")] = b""
        salted_password: Annotated[bytes, binary("0+")] = b""

    deletions: Annotated[list[AlterUserScramCredentialsRequest.ScramCredentialDeletion], struct("0+")] = []
    upsertions: Annotated[list[AlterUserScramCredentialsRequest.ScramCredentialUpsertion], struct("0+")] = []


@message("0", flexible="0+", api_key=51)
class AlterUserScramCredentialsResponse(Message):
    """Response: an error code for each user (key 51, v0)."""

    class AlterUserScramCredentialsResult(Part):
        user: Annotated[str, string("0+")] = ""
        error_code: Annotated[int, int16("0+")] = 0
        error_message: Annotated[str | None, string("0+", nullable="0+")] = ""

    throttle_time_ms: Annotated[int, int32("0+")] = 0
    results: Annotated[
        list[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult], struct("0+")
    ] = []
