"""The one list of what is served."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcompat.api.registry import SERVED
from kcompat.protocol.api_keys import ApiKey


def test_rules_of_access_can_be_asked_for() -> None:
    """MirrorMaker 2 logs an error every few minutes where the question itself is unknown."""
    assert {ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS} <= {served.key for served in SERVED}


@pytest.mark.parametrize("served", SERVED, ids=lambda served: served.key.name)
def test_every_api_has_a_handler_and_a_file_of_tests(served) -> None:
    assert callable(served.handler())
    assert Path(__file__).with_name(f"test_{served.key.name.lower()}.py").is_file()
