"""The broker under test, and what the tests of all client families share.

``pytest interop-tests`` plays everything to kcompat, ``pytest interop-tests --target=kafka`` to a real
Kafka 3.9.2: a test that fails there is wrong about Kafka.
"""

from __future__ import annotations

import itertools
import os
import re
from typing import TYPE_CHECKING

import pytest

from real_kafka import RealKafka
from support.kcompat_broker import KcompatBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from support.broker_process import BrokerProcess

_numbers = itertools.count(1)

OLD_RECORDS_STAY = {"log.retention.ms": "-1"}
"""For records whose times are made up: a broker looks for what has expired half a minute after its start."""


LACKING = re.compile(r"\binstall\b|is not there|needs a C compiler")
"""Text in the reason of a skip that stands for a missing tool rather than for an inability of a client."""


def _fail_for_want_of_a_tool(report: pytest.TestReport | pytest.CollectReport) -> None:
    """A missing tool skips tests on a person's machine; in CI it is a fault of the project's own set-up."""
    if report.outcome == "skipped" and "CI" in os.environ and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if LACKING.search(reason):
            report.outcome = "failed"
            report.longrepr = f"CI must not skip for want of a tool: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_for_want_of_a_tool(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_for_want_of_a_tool(report)
    return report


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--target",
        choices=("kcompat", "kafka"),
        default="kcompat",
        help="the broker that the clients talk to",
    )


def pytest_configure(config: pytest.Config) -> None:
    for plugin in ("interrupts", "left_directories", "scheduling", "thorough", "time_limits", "time_table"):
        config.pluginmanager.import_plugin(f"support.{plugin}")


@pytest.fixture(scope="session")
def new_broker(request: pytest.FixtureRequest) -> Callable[..., BrokerProcess]:
    """Makes a broker of the kind under test, not yet started."""
    return KcompatBroker if request.config.getoption("--target") == "kcompat" else RealKafka


@pytest.fixture(scope="session")
def session_broker(new_broker: Callable[..., BrokerProcess]) -> Iterator[BrokerProcess]:
    with new_broker(properties=OLD_RECORDS_STAY) as broker:
        yield broker


@pytest.fixture
def broker(session_broker: BrokerProcess) -> Iterator[BrokerProcess]:
    """The running broker; a test during which ours ends or logs a traceback has failed."""
    said = session_broker.log_path.stat().st_size
    yield session_broker
    assert session_broker.is_running(), session_broker.log_tail()
    with session_broker.log_path.open("rb") as log:
        log.seek(said)
        news = log.read().decode(errors="replace")
    assert isinstance(session_broker, RealKafka) or "Traceback" not in news, news[-8000:]


@pytest.fixture
def name() -> str:
    """A name for a topic or a group that nothing else uses."""
    return f"t-{os.getpid()}-{next(_numbers)}"
