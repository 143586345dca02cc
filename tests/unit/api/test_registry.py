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
def test_every_handler_is_named_as_its_api_and_has_a_file_of_tests(served) -> None:
    module = served.handle.__module__.rpartition(".")[2]
    assert module == served.key.name.lower()
    assert Path(__file__).with_name(f"test_{module}.py").is_file()
