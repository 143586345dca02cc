"""CreateDelegationToken at a PLAINTEXT listener."""

from __future__ import annotations

import pytest

from kcompat.api import create_delegation_token
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from support.asking import ask, services_of


@pytest.mark.parametrize("version", range(4))
def test_a_client_without_a_name_gets_no_token(version: int) -> None:
    answer = ask(create_delegation_token, version, CreateDelegationTokenRequest(), services_of())
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert (answer.principal_type, answer.principal_name) == ("User", "ANONYMOUS")
    requester = (answer.token_requester_principal_type, answer.token_requester_principal_name)
    assert requester == (("User", "ANONYMOUS") if version >= 3 else ("", ""))
    assert (answer.issue_timestamp_ms, answer.expiry_timestamp_ms, answer.max_timestamp_ms) == (-1, -1, -1)
    assert (answer.token_id, answer.hmac) == ("", b"")


def test_the_owner_that_was_asked_for_is_named() -> None:
    request = CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="bob")
    answer = ask(create_delegation_token, 3, request, services_of())
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert (answer.principal_type, answer.principal_name) == ("User", "bob")
    assert answer.token_requester_principal_name == "ANONYMOUS"
