"""The demo, as `make demo` runs it, with fewer records."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.eventually import limit_s
from support.places import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path


def run_demo(scale: str, clone: Path = REPOSITORY, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, clone / "demo" / "run.py", "--scale", scale],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=limit_s(150),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✗" not in done.stdout
    assert "\x1b" not in done.stdout, "a pipe gets plain lines"
    return done.stdout


def test_without_java_the_demo_says_what_to_install(tmp_path):
    said = run_demo("0.05", PATH=str(tmp_path))
    assert "✓ 11,000 records came back" in said
    assert "install version 17" in said


def test_without_the_connector_the_demo_says_what_to_install(tmp_path):
    """On a machine that has fetched nothing, with Java and without Maven."""
    for part in ("demo", "spark-examples", "interop-tests", "image"):
        shutil.copytree(
            REPOSITORY / part, tmp_path / part, ignore=shutil.ignore_patterns(".*", "__pycache__")
        )
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "java").touch(mode=0o755)
    said = run_demo("0.05", tmp_path, PATH=str(programs), XDG_CACHE_HOME=str(tmp_path / "caches"))
    assert "✓ 11,000 records came back" in said
    assert "mvn is not on the PATH: install it" in said


@pytest.mark.skipif(
    shutil.which("java") is None or importlib.util.find_spec("pyspark") is None,
    reason="install a Java 17 runtime, and pip install pyspark==4.2.0",
)
def test_the_demo_ends_with_what_spark_counted():
    assert "✓ Spark counted 12,000 orders, 1,000 of them live" in run_demo("0.05")
