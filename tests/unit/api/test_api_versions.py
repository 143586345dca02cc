"""ApiVersions: the registry as clients see it."""

from __future__ import annotations

import pytest

from kcompat.api import api_versions
from kcompat.api.registry import SERVED
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from support.asking import Denying, ask, services_of

EPOCH = 7
SERVICES = services_of(served=SERVED, features_epoch=lambda: EPOCH)


def software(name: str = "client", version: str = "1.0") -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


@pytest.mark.parametrize("version", range(6))
def test_every_api_is_listed_with_its_versions(version: int) -> None:
    answer = ask(api_versions, version, software(), SERVICES)
    rows = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert rows == {api.key: (api.min_version, api.max_version) for api in SERVED}
    assert answer.error_code == 0
    assert answer.finalized_features_epoch == (EPOCH if version >= 3 else -1)
    assert (answer.supported_features, answer.finalized_features) == ([], [])


def test_nobody_needs_a_permission() -> None:
    services = services_of(served=SERVED, features_epoch=lambda: EPOCH, authorizer=Denying())
    assert len(ask(api_versions, 3, software(), services).api_keys) == len(SERVED)


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a.", "é", "a" * 129])
def test_software_with_odd_names_is_refused_from_version_3(name: str) -> None:
    for asked in (software(name=name), software(version=name)):
        answer = ask(api_versions, 3, asked, SERVICES)
        assert (answer.error_code, answer.api_keys) == (ErrorCode.INVALID_REQUEST, [])
    assert ask(api_versions, 2, software(name=name), SERVICES).error_code == 0


def test_a_version_from_the_future_is_told_ours_of_this_api() -> None:
    answer = api_versions.unsupported(SERVED)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(row.api_key, row.min_version, row.max_version) for row in answer.api_keys] == [(18, 0, 5)]
