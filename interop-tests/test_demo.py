"""The demo, as `make demo` runs it, with fewer records."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest
from broker_process import REPOSITORY


def run_demo(scale: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, REPOSITORY / "demo" / "run.py", "--scale", scale],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=150,
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


@pytest.mark.skipif(
    shutil.which("java") is None or importlib.util.find_spec("pyspark") is None,
    reason="install a Java 17 runtime, and pip install pyspark==4.2.0",
)
def test_the_demo_ends_with_what_spark_counted():
    assert "✓ Spark counted 12,000 orders, 1,000 of them live" in run_demo("0.05")
