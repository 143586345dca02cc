"""`kcompat features`: the actions that are about Kafka's releases, as Kafka 4.3 prints them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kcompat.commands.features import run
from kcompat.commands.metadata_versions import level_of, levels_with

if TYPE_CHECKING:
    from collections.abc import Mapping

AT = ("--bootstrap-server", "localhost:9092")
NAMES = ("kraft", "transaction", "group", "eligible.leader.replicas", "share", "streams")


@pytest.mark.parametrize(
    ("release", "levels"),
    [
        ("3.8", (0, 0, 0, 0, 0, 0)),
        ("3.9", (1, 0, 0, 0, 0, 0)),
        ("4.0-IV1", (1, 0, 1, 0, 0, 0)),
        ("4.0-IV2", (1, 2, 1, 0, 0, 0)),
        ("4.1-IV0", (1, 2, 1, 1, 0, 0)),
        ("4.2-IV0", (1, 2, 1, 1, 1, 0)),
        ("4.3", (1, 2, 1, 1, 1, 1)),
    ],
)
def test_a_release_has_levels_of_every_feature(release: str, levels: tuple[int, ...]) -> None:
    level = level_of(release)
    assert level is not None
    found: Mapping[str, int] = levels_with(level)
    assert found == {f"{name}.version": each for name, each in zip(NAMES, levels, strict=True)}


def test_the_levels_of_a_release_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*AT, "version-mapping", "--release-version", "4.0"]) == 0
    assert capsys.readouterr().out == (
        "metadata.version=25 (4.0)\nkraft.version=1\ntransaction.version=2\ngroup.version=1\n"
        "eligible.leader.replicas.version=0\nshare.version=0\nstreams.version=0\n"
    )
    assert run([*AT, "version-mapping", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["features"]["metadata.version"] == 30


@pytest.mark.parametrize("release", ["3.2", "4.4", "x", ""])
def test_an_unknown_release_is_refused_with_the_known_ones(
    release: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*AT, "version-mapping", "--release-version", release]) == 1
    assert capsys.readouterr().err.startswith(
        f"Unknown metadata.version '{release}'. Supported metadata.version are: 3.3-IV3, 3.4-IV0, "
    )


@pytest.mark.parametrize(
    ("feature", "printed"),
    [
        ("metadata.version=29", "metadata.version=29 (4.2-IV1) has no dependencies.\n"),
        ("transaction.version=2", "transaction.version=2 has no dependencies.\n"),
        (
            "eligible.leader.replicas.version=1",
            "eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)\n",
        ),
        ("metadata.version=5", "Unknown metadata.version 5\n"),
        ("share.version=2", "No feature:share.version with feature level 2\n"),
        ("nope=1", "Unknown feature: nope\n"),
        ("x", "Can't parse feature=level string x: equals sign not found.\n"),
    ],
)
def test_levels_that_a_level_needs(feature: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run([*AT, "feature-dependencies", "--feature", feature])
    shown = capsys.readouterr()
    assert (shown.out + shown.err, code) == (printed, int(shown.out == ""))
