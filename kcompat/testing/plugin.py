"""The plugin of pytest: the fixtures by their usual names, the options, and the report of a failing test.

It is the entry point `kcompat` of the distribution, so `-p no:kcompat` leaves it out. Loading it imports
nothing of a broker.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kcompat.testing.plain_imports import import_plainly

import_plainly()  # first: with the finder of pytest the imports that follow take five times as long

# ruff: noqa: E402
from kcompat.embedded.observers import observers
from kcompat.testing import factories
from kcompat.testing.options import add_options, check_options, external_address, settings
from kcompat.testing.sharing import unique_topic
from kcompat.testing.watch import TITLE, WATCH, BrokerWatch

if TYPE_CHECKING:
    from collections.abc import Generator

    from kcompat.embedded.settings import Settings

kafka_broker = factories.kafka_broker()
kafka_cluster = factories.kafka_cluster()
kafka_client_config = factories.kafka_client_config()


@pytest.fixture(scope="session")
def kafka_config(pytestconfig: pytest.Config) -> Settings:
    """Return the settings of `kafka_broker` and `kafka_cluster`, by Kafka's keys: from --kcompat-config, else
    from the ini file. Override this fixture in a conftest.py to set others.
    """
    return settings(pytestconfig)


@pytest.fixture
def kafka_topic(request: pytest.FixtureRequest) -> str:
    """Return a topic name that no other test has; the topic is created when it is first written to."""
    is_shared = external_address(request.config) is not None  # with earlier runs and other workers
    return unique_topic(request.node.name, os.urandom(4).hex() if is_shared else "")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the command line and of the ini file."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Check the options, and watch brokers."""
    check_options(config)
    watch = config.stash[WATCH] = BrokerWatch()
    observers.append(watch)
    config.add_cleanup(lambda: observers.remove(watch))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Prepare the brokers of a test, and begin its report."""
    item.config.stash[WATCH].test_begins(getattr(item, "fixturenames", ()))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """End the faults that a test left in brokers of fixtures, before its clients are closed."""
    item.config.stash[WATCH].shared.clean(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what its clients did to the report of a failed test."""
    report = yield
    if report.failed:
        used = list(getattr(item, "funcargs", {}).values())
        report.sections += [(TITLE, story) for story in item.config.stash[WATCH].stories(used)]
    return report


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name the external broker, if the tests use one."""
    address = external_address(config)
    if address is None:
        return None
    return f"kcompat: the tests use the broker at {address}, with its own settings"
