"""DescribeDelegationToken at a PLAINTEXT listener."""

from __future__ import annotations

import pytest

from kcompat.api import describe_delegation_token
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from support.asking import ask, services_of


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("is_of_all", [True, False])
def test_a_client_without_a_name_sees_no_token(version: int, is_of_all: bool) -> None:
    request = DescribeDelegationTokenRequest(owners=None if is_of_all else [])
    answer = ask(describe_delegation_token, version, request, services_of())
    assert (answer.error_code, answer.tokens) == (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, [])
