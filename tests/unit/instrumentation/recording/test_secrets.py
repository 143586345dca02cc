"""No secret is recorded, in whatever request or answer it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from kcompat.instrumentation.recording.decoding import read_request, read_response
from kcompat.instrumentation.recording.secrets import without_secrets
from kcompat.instrumentation.request_head import read_head
from kcompat.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from kcompat.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from kcompat.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcompat.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kcompat.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kcompat.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from kcompat.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from kcompat.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kcompat.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from kcompat.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kcompat.security.sasl.exchange import ExchangeState, SaslExchange
from support.recorded import answer_of, exchange_of, frame_of

if TYPE_CHECKING:
    from kcompat.protocol.message import Message

MARK = b"s3cret"
TEXT = MARK.decode()


def incremental(name: str, value: str | None) -> IncrementalAlterConfigsRequest:
    config = IncrementalAlterConfigsRequest.AlterableConfig(name=name, value=value)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type=4, configs=[config])
    return IncrementalAlterConfigsRequest(resources=[resource])


def replaced(name: str) -> AlterConfigsRequest:
    config = AlterConfigsRequest.AlterableConfig(name=name, value=TEXT)
    return AlterConfigsRequest(resources=[AlterConfigsRequest.AlterConfigsResource(configs=[config])])


def created(name: str) -> CreateTopicsRequest:
    config = CreateTopicsRequest.CreatableTopicConfig(name=name, value=TEXT)
    return CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name="t", configs=[config])])


SCRAM_USER = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
    name="alice", mechanism=1, iterations=4096, salt=MARK, salted_password=MARK
)
TOKEN = DescribeDelegationTokenResponse.DescribedDelegationToken(token_id="id", hmac=MARK)
CASES: list[tuple[Message, Message, int]] = [
    (SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + MARK), SaslAuthenticateResponse(auth_bytes=MARK), 2),
    (AlterUserScramCredentialsRequest(upsertions=[SCRAM_USER]), AlterUserScramCredentialsResponse(), 0),
    (CreateDelegationTokenRequest(), CreateDelegationTokenResponse(hmac=MARK), 3),
    (DescribeDelegationTokenRequest(), DescribeDelegationTokenResponse(tokens=[TOKEN]), 3),
    (RenewDelegationTokenRequest(hmac=MARK), RenewDelegationTokenResponse(), 2),
    (ExpireDelegationTokenRequest(hmac=MARK), ExpireDelegationTokenResponse(), 2),
    (incremental("ssl.keystore.password", TEXT), IncrementalAlterConfigsResponse(), 1),
    (incremental("listener.name.x.ssl.key.password", TEXT), IncrementalAlterConfigsResponse(), 1),
    (incremental("nobody.knows.this", TEXT), IncrementalAlterConfigsResponse(), 0),
    (replaced("delegation.token.secret.key"), AlterConfigsResponse(), 2),
    (created("unknown"), CreateTopicsResponse(), 7),
]


@pytest.mark.parametrize(("request_", "response", "version"), CASES)
def test_secrets_are_left_out_and_the_rest_stays(request_: Message, response: Message, version: int) -> None:
    frame, answer = frame_of(request_, version), answer_of(response, version)
    assert MARK in frame + b"".join(answer)
    exchange = exchange_of(frame, answer)
    assert MARK not in exchange.request + b"".join(cast("tuple[bytes]", exchange.answer))
    head = read_head(exchange.request)
    assert type(read_request(exchange.request, head)) is type(request_)
    assert type(read_response(exchange.answer, head)) is type(response)


def test_configs_that_are_no_secret_stay() -> None:
    frame = frame_of(incremental("retention.ms", "1000"), 1)
    assert without_secrets(frame) == frame
    assert without_secrets(frame_of(incremental("consumer.session.timeout.ms", TEXT), 1)).count(MARK) == 1


def test_nothing_is_kept_of_a_token_without_a_header() -> None:
    exchange = SaslExchange({}, cast("Any", None), None)
    exchange.state = ExchangeState.RAW_TOKENS
    token = b"\0A\0\1" + MARK  # what would be a request of Vote v1
    recorded = exchange_of(token, [b"\0\0\0\6" + MARK], context=exchange)
    assert (recorded.request, recorded.answer) == (b"", (b"\0\0\0\6",))
    assert recorded.request_size == len(token)


@pytest.mark.parametrize(
    "frame", [b"", b"\0", b"\0alice\0" + MARK, b"n,,n=alice,r=" + MARK, frame_of(CASES[0][0], 2)[:-3]]
)
def test_nothing_secret_is_kept_of_what_is_no_request(frame: bytes) -> None:
    assert MARK[:4] not in exchange_of(frame, [b"\0\0\0\6" + MARK]).request


def test_a_request_of_an_unknown_version_keeps_its_kind_and_its_answer() -> None:
    frame = b"\0\x12\0\x63" + frame_of(ApiVersionsRequest(), 4)[4:]
    exchange = exchange_of(frame, answer_of(ApiVersionsResponse(error_code=35), 0))
    head = read_head(exchange.request)
    assert (exchange.request, head.version) == (b"\0\x12\0\x63", 99)
    response = read_response(exchange.answer, head)
    assert isinstance(response, ApiVersionsResponse)
    assert response.error_code == 35


def test_nothing_is_kept_of_a_login_whose_client_id_covers_the_token() -> None:
    token = b"\0alice\0" + MARK
    kind, rest = b"\0\x24\0\1\0\0\0\7", len(token).to_bytes(4, "big") + token
    frame = kind + len(rest).to_bytes(2, "big") + rest
    exchange = exchange_of(frame, [b"\0\0\0\4\0\0\0\7"])
    assert exchange.request == kind
    assert read_head(exchange.request).key == 36
