"""DescribeUserScramCredentials of a broker without users."""

from __future__ import annotations

import pytest

from kcompat.api import describe_user_scram_credentials
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.operations import Operation
from support.asking import Denying, ask, services_of

User = DescribeUserScramCredentialsRequest.UserName


@pytest.mark.parametrize("is_null", [True, False])
def test_there_are_no_users(is_null: bool) -> None:
    request = DescribeUserScramCredentialsRequest(None if is_null else [])
    answer = ask(describe_user_scram_credentials, 0, request, services_of())
    assert (answer.error_code, answer.results) == (0, [])


def test_users_that_are_named_are_not_found_and_one_named_twice_is_an_error() -> None:
    request = DescribeUserScramCredentialsRequest([User("alice"), User("bob"), User("alice"), User("")])
    answer = ask(describe_user_scram_credentials, 0, request, services_of())
    assert answer.error_code == 0
    assert [(row.user, row.error_code, row.credential_infos) for row in answer.results] == [
        ("alice", ErrorCode.DUPLICATE_RESOURCE, []),
        ("bob", ErrorCode.RESOURCE_NOT_FOUND, []),
        ("", ErrorCode.RESOURCE_NOT_FOUND, []),
    ]
    assert answer.results[1].error_message == "Attempt to describe a user credential that does not exist: bob"


def test_a_client_that_may_not_describe_the_cluster_is_refused() -> None:
    services = services_of(authorizer=Denying((Operation.DESCRIBE, CLUSTER)))
    request = DescribeUserScramCredentialsRequest([User("alice")])
    answer = ask(describe_user_scram_credentials, 0, request, services)
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert [(row.user, row.error_code) for row in answer.results] == [("", answer.error_code)]
