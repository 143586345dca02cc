"""The fixtures that `kcompat.testing` gives to a run of pytest that names it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from support.places import REPOSITORY

if TYPE_CHECKING:
    import pytest

pytest_plugins = ["pytester"]

CONFTEST = """
import pytest

pytest_plugins = ["kcompat.testing"]

@pytest.fixture(scope="session")
def kafka_config():
    return {"num.partitions": 3}
"""

TESTS = """
import pytest
from kcompat.protocol.messages.metadata import MetadataRequest
from support.raw_client import RawClient

names = set()

@pytest.mark.parametrize("value", ["a", "b / c", "ü" * 300])
def test_topic(kafka_broker, kafka_topic, value):
    names.add(kafka_topic)
    host, _, port = kafka_broker.bootstrap_servers.rpartition(":")
    wanted = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=kafka_topic)])
    with RawClient((host, int(port))) as client:
        [topic] = client.call(wanted, 4).topics
        while topic.error_code:
            [topic] = client.call(wanted, 4).topics
    assert len(topic.partitions) == 3

def test_names(kafka_topic):
    assert kafka_topic.startswith("test_names-")
    assert len(names) == 3
"""


def test_a_run_that_names_the_fixtures(pytester: pytest.Pytester) -> None:
    pytester.makeini(f"[pytest]\npythonpath = {REPOSITORY / 'tests'}\n")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    run = pytester.runpytest_subprocess("-p", "no:randomly", "--timeout=60")
    run.assert_outcomes(passed=4)


def test_nothing_else_imports_pytest() -> None:
    code = "import sys, kcompat.cli.main, kcompat; kcompat.Broker; print('pytest' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
