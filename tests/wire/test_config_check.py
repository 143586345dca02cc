"""Processes of `kcompat start` start with the files that `kcompat config check` finds good, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcompat.cli.config_check import findings_of
from support.start_command import started

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough("tests/property/test_config_check.py compares with what a start checks")


@pytest.mark.parametrize(
    "text",
    [
        "num.partitions=2\nfoo.bar=1\nbackground.threads=3",
        "num.partitions=two",
        "listeners=SSL://localhost:0",
        "listeners=SASL_PLAINTEXT://localhost:0\nsasl.enabled.mechanisms=SCRAM-SHA-256",
        "listeners=SASL_PLAINTEXT://localhost:0\nsasl.enabled.mechanisms=PLAIN",
        "process.roles=broker",
        "ssl.engine.factory.class=com.example.Factory",
        "broker.id=1\nnode.id=2",
        "broker.rack=${env:RACK}\nconfig.providers=env",
    ],
)
def test_a_start_agrees(text: str, tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(f"listeners=PLAINTEXT://localhost:0\nlog.dirs={tmp_path}/data\n{text}\n")
    refusals = [each.message for each in findings_of(path, {}) if each.verdict.prevents_start]
    with started(str(path), cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        if process.stdout.readline().startswith("kcompat is listening on "):
            assert refusals == []
        else:
            assert process.wait() == 1
            assert process.stderr.read() in [f"kcompat: {each}\n" for each in refusals]
