"""SaslHandshake at a listener without SASL."""

from __future__ import annotations

import pytest

from kcompat.api import sasl_handshake
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.sasl_handshake import SaslHandshakeRequest
from support.asking import ask, services_of


@pytest.mark.parametrize("version", range(2))
def test_a_client_that_is_authenticated_already_is_refused(version: int) -> None:
    answer = ask(sasl_handshake, version, SaslHandshakeRequest(mechanism="PLAIN"), services_of())
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
