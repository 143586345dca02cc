"""The workflows for GitHub Actions of a page: their steps run as they stand, but for the ports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from support.eventually import limit_s
from support.page_blocks import blocks
from support.page_sandbox import Sandbox
from support.places import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

PAGE = REPOSITORY / "docs" / "how-to" / "recipes" / "run-in-github-actions.md"
WORKFLOWS = [yaml.safe_load(block.text) for block in blocks(PAGE.read_text()) if block.language == "yaml"]

TEST = """
import os
from kafka import KafkaProducer

def test_orders(kafka_broker):
    with KafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers) as producer:
        producer.send("orders", b"order").get(30)
"""
SCRIPT = """#!/bin/sh
exec python -c '
import os
from kafka import KafkaProducer
with KafkaProducer(bootstrap_servers=os.environ["BOOTSTRAP_SERVERS"]) as producer:
    assert producer.partitions_for("orders") == {0, 1, 2}
    producer.send("orders", b"order").get(30)
'
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a new environment of Python, in which pip finds the packages of this one alone."""
    place = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    packages = next(place.glob("lib/python*/site-packages"))
    (packages / "others.pth").write_text(f"{REPOSITORY}\n{sysconfig.get_path('purelib')}\n")
    python = place / "bin" / "python"
    for name in ("kcompat", "pip", "pytest"):
        (python.parent / name).write_text(f'#!/bin/sh\nexec {python} -W ignore -m {name} "$@"\n')
        (python.parent / name).chmod(0o755)
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def run_step(script: str, directory: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run a step as a runner of GitHub does, and return its group of processes and what it has printed."""
    (directory / "output").touch()
    with (directory / "output").open("w") as output:
        step = subprocess.Popen(
            ["bash", "-e", "-c", script],
            cwd=directory, env=environment, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
        code = step.wait(limit_s(100))
    said = (directory / "output").read_text()
    assert code == 0, f"{script}\n{said}"
    return step.pid, said


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_the_steps_of_a_workflow(workflow: Any, tmp_path: Path, environment: dict[str, str]) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "test_orders.py").write_text(TEST)
    (project / "test.sh").write_text(SCRIPT)
    (project / "test.sh").chmod(0o755)
    (job,) = workflow["jobs"].values()
    groups = []
    try:
        with Sandbox(tmp_path) as sandbox:
            variables = {name: sandbox.placed(value) for name, value in job.get("env", {}).items()}
            steps = [each["run"] for each in job["steps"] if "run" in each and "if" not in each]
            for step in steps:
                script = sandbox.placed(step).replace("--memory", f"--memory --port {sandbox.placed('9092')}")
                group, said = run_step(script, project, environment | variables)
                groups.append(group)
                assert "does not provide the extra" not in said
        for kept in (each["with"]["path"] for each in job["steps"] if "upload" in each.get("uses", "")):
            assert any((project / kept).iterdir())
    finally:
        for group in groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)
