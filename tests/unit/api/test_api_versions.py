"""ApiVersions: the registry as clients see it."""

from __future__ import annotations

import pytest

from kcompat.api import api_versions
from kcompat.api.registry import SERVED
from kcompat.cluster.feature_levels import SUPPORTED
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from support.asking import Denying, Finalized, ask, services_of

FEATURES = Finalized(7, transaction_version=2)
SERVICES = services_of(served=SERVED, features=FEATURES)


def software(name: str = "client", version: str = "1.0") -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


@pytest.mark.parametrize("version", range(6))
def test_every_api_is_listed_with_its_versions(version: int) -> None:
    answer = ask(api_versions, version, software(), SERVICES)
    rows = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert rows == {api.key: (api.min_version, api.max_version) for api in SERVED}
    assert answer.error_code == 0


@pytest.mark.parametrize("version", range(6))
def test_features_are_told_as_far_as_the_client_can_read_them(version: int) -> None:
    answer = ask(api_versions, version, software(), SERVICES)
    supported = {row.name: (row.min_version, row.max_version) for row in answer.supported_features}
    finalized = {
        row.name: (row.min_version_level, row.max_version_level) for row in answer.finalized_features
    }
    every = {name: (levels.lowest, levels.highest) for name, levels in SUPPORTED.items()}
    readable = {name: levels for name, levels in every.items() if levels[0] > 0}
    assert supported == (every if version >= 4 else readable if version == 3 else {})
    assert finalized == ({"transaction.version": (2, 2)} if version >= 3 else {})
    assert answer.finalized_features_epoch == (7 if version >= 3 else -1)


def test_nobody_needs_a_permission() -> None:
    services = services_of(served=SERVED, features=FEATURES, authorizer=Denying())
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
