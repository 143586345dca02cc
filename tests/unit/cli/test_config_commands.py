from __future__ import annotations

import pytest

from kcompat.cli.config_commands import with_config_action


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["config"], ["config", "list"]),
        (["config", "--topic", "ms"], ["config", "list", "--topic", "ms"]),
        (["config", "listeners"], ["config", "list", "listeners"]),
        (["config", "list", "check"], ["config", "list", "check"]),
        (["config", "check", "file"], ["config", "check", "file"]),
        (["config", "--help"], ["config", "--help"]),
        (["start", "config"], ["start", "config"]),
        ([], []),
    ],
)
def test_config_without_an_action_is_the_list(given: list[str], meant: list[str]) -> None:
    assert with_config_action(given) == meant
