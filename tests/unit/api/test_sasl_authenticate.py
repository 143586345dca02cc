"""SaslAuthenticate at a listener without SASL."""

from __future__ import annotations

import pytest

from kcompat.api import sasl_authenticate
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from support.asking import ask, services_of


@pytest.mark.parametrize("version", range(3))
def test_a_client_that_is_authenticated_already_is_refused(version: int) -> None:
    answer = ask(sasl_authenticate, version, SaslAuthenticateRequest(b"\0alice\0secret"), services_of())
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert answer.error_message == "SaslAuthenticate request received after successful authentication"
    assert (answer.auth_bytes, answer.session_lifetime_ms) == (b"", 0)
