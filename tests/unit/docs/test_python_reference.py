"""The page about the Python API names every public class, member and error."""

from __future__ import annotations

import inspect

import pytest

import kcompat
from kcompat import errors, testing
from kcompat.embedded.cluster import ClusterBroker
from support.places import REPOSITORY

PAGE = (REPOSITORY / "docs" / "reference" / "python.md").read_text()
BROKERS = (kcompat.Broker, kcompat.Cluster, ClusterBroker)
MEMBERS = {name for broker in BROKERS for name in dir(broker) if not name.startswith("_")}
ARGUMENTS = {name for broker in BROKERS[:2] for name in inspect.signature(broker).parameters}
ERRORS = {name for name, value in vars(errors).items() if inspect.isclass(value)}
FIXTURES = {name for name in vars(testing) if name.startswith("kafka_")}
INTERNAL = {"nodes", "thread"}
"""Members of `Cluster` for the project's own tests."""


@pytest.mark.parametrize("name", sorted((MEMBERS | ARGUMENTS | ERRORS | FIXTURES) - INTERNAL))
def test_the_page_has_the_name(name: str) -> None:
    assert f"`{name}`" in PAGE or f"`{name}(" in PAGE
