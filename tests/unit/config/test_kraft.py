"""Which settings of a KRaft node are those of a broker alone."""

from __future__ import annotations

import pytest

from kcompat.config.errors import ConfigError
from kcompat.config.kraft import insist_on_one_node

ALONE = {"process.roles": "broker,controller", "controller.quorum.voters": "1@localhost:9093"}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"process.roles": "broker"}, "process.roles=broker and controller.quorum.voters=1@localhost:9093 "),
        ({"process.roles": "controller"}, "process.roles=controller and "),
        ({"controller.quorum.voters": "1@a:1, 2@b:1"}, "controller.quorum.voters=1@a:1,2@b:1 "),
        (
            {"process.roles": "", "controller.quorum.voters": "1@a:1,2@b:1"},
            "controller.quorum.voters=1@a:1,2",
        ),
        (
            {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": "a:1,b:1"},
            "process.roles=broker,controller and controller.quorum.bootstrap.servers=a:1,b:1 ",
        ),
    ],
)
def test_a_node_of_several_is_refused(changes: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError) as refused:
        insist_on_one_node(ALONE | changes)
    sentence = str(refused.value)
    assert named in sentence
    assert "KRaft cluster of several nodes" in sentence
    assert "zookeeper.connect" in sentence
    insist_on_one_node(ALONE | changes | {"zookeeper.connect": "zookeeper:2181"})


@pytest.mark.parametrize(
    "values",
    [
        {},
        ALONE,
        {"process.roles": " controller , broker "},
        ALONE | {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": "localhost:9093"},
    ],
)
def test_a_node_alone_is_taken(values: dict[str, str]) -> None:
    insist_on_one_node(values)
