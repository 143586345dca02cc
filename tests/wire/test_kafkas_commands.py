"""Kafka's commands without a JVM, against a broker over sockets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kcompat import Broker
from kcompat.commands.run import run_command

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


def test_topics_are_made_listed_described_extended_and_deleted(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def topics(*words: str, code: int = 0) -> str:
        assert run_command("topics", ["--bootstrap-server", server, *words]) == code
        return capsys.readouterr().out

    made = topics("--create", "--topic", "orders", "--partitions", "2", "--config", "retention.ms=1000")
    assert made == "Created topic orders.\n"
    assert topics("--list") == "orders\n"
    assert topics("--create", "--topic", "orders", "--if-not-exists") == ""
    assert topics("--create", "--topic", "orders", code=1) == (
        "Error while executing topic command : Topic 'orders' already exists.\n"
    )
    topics("--alter", "--topic", "ord.*", "--partitions", "3")
    (shown,) = json.loads(topics("--describe", "-o", "json"))
    assert (shown["topic"], shown["partitionCount"]) == ("orders", 3)
    assert shown["configs"] == {"retention.ms": "1000"}
    assert [each["leader"] for each in shown["partitions"]] == [1, 1, 1]
    assert f"Topic: orders\tTopicId: {shown['topicId']}\tPartitionCount: 3" in topics("--describe")
    assert topics("--delete", "--topic", "orders") == ""
    assert json.loads(topics("--list", "-o", "json")) == []
