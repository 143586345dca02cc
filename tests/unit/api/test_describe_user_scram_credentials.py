"""DescribeUserScramCredentials: mechanisms and iterations, never a secret."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.api import describe_user_scram_credentials
from kcompat.cluster.control_requests import UpdateConfigs
from kcompat.cluster.metadata_cache import MetadataCache
from kcompat.cluster.scram_users import ScramUsers
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kcompat.security.authorizer import CLUSTER
from kcompat.security.credentials import ScramCredential
from kcompat.security.operations import Operation
from support.asking import Denying, ask, services_of

User = DescribeUserScramCredentialsRequest.UserName


def described(*names: str, is_null: bool = False) -> Any:
    """The response of a broker with the users bob and carol."""
    low, high = (ScramCredential(b"salt", b"a", b"b", each).format() for each in (4096, 8192))
    metadata = MetadataCache("cluster")
    metadata.apply(
        UpdateConfigs(
            {
                ("users", "carol"): {"SCRAM-SHA-512": high, "SCRAM-SHA-256": low},
                ("users", "bob"): {"SCRAM-SHA-512": high},
                ("users", "alice"): {"producer_byte_rate": "1"},
            }
        )
    )
    request = DescribeUserScramCredentialsRequest(None if is_null else [User(name) for name in names])
    services = services_of(scram_users=ScramUsers(metadata))
    return ask(describe_user_scram_credentials, 0, request, services)


@pytest.mark.parametrize("is_null", [True, False])
def test_all_users_are_described(is_null: bool) -> None:
    answer = described(is_null=is_null)
    assert answer.error_code == 0
    assert [
        (row.user, row.error_code, [(info.mechanism, info.iterations) for info in row.credential_infos])
        for row in answer.results
    ] == [("bob", 0, [(2, 8192)]), ("carol", 0, [(1, 4096), (2, 8192)])]


def test_users_without_credentials_are_not_found_and_one_named_twice_is_an_error() -> None:
    answer = described("alice", "bob", "carol", "bob", "")
    assert answer.error_code == 0
    assert [(row.user, row.error_code, len(row.credential_infos)) for row in answer.results] == [
        ("alice", ErrorCode.RESOURCE_NOT_FOUND, 0),
        ("bob", ErrorCode.DUPLICATE_RESOURCE, 0),
        ("carol", ErrorCode.NONE, 2),
        ("", ErrorCode.RESOURCE_NOT_FOUND, 0),
    ]
    assert (
        answer.results[0].error_message == "Attempt to describe a user credential that does not exist: alice"
    )


def test_a_client_that_may_not_describe_the_cluster_is_refused() -> None:
    services = services_of(authorizer=Denying((Operation.DESCRIBE, CLUSTER)))
    request = DescribeUserScramCredentialsRequest([User("alice")])
    answer = ask(describe_user_scram_credentials, 0, request, services)
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert [(row.user, row.error_code) for row in answer.results] == [("", answer.error_code)]
