"""ExpireDelegationToken at a PLAINTEXT listener."""

from __future__ import annotations

import pytest

from kcompat.api import expire_delegation_token
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from support.asking import ask, services_of


@pytest.mark.parametrize("version", range(3))
def test_a_client_without_a_name_changes_no_token(version: int) -> None:
    answer = ask(expire_delegation_token, version, ExpireDelegationTokenRequest(b"hmac", 1000), services_of())
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer.expiry_timestamp_ms == -1
