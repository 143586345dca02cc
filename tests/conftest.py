"""For all tests: the longest come first, and what they leave on the disk is judged at the end of the run by
Kafka's own tool. An example of a property test may take as long as a busy machine needs for it.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

from support.fuzzing import examples

pytest.register_assert_rewrite(
    "support.store_conformance", "support.session_conformance", "support.share_state_conformance"
)

settings.register_profile(
    "unhurried",
    parent=settings.default,
    deadline=None,
    max_examples=examples(settings.default.max_examples),
)
settings.load_profile("unhurried")


def pytest_configure(config: pytest.Config) -> None:
    for plugin in ("interrupts", "left_directories", "scheduling", "thorough", "time_limits", "time_table"):
        config.pluginmanager.import_plugin(f"support.{plugin}")
