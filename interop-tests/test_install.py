"""Wheels with and without a C compiler: both install and work, the second with the pure-Python scanner."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.eventually import limit_s

ROOT = Path(__file__).parents[1]
NO_COMPILER = {"CC": "/nonexistent"}
COMPILER = pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")

CHECK = """
from kcompat.records import scanning
assert scanning.scan(bytes.fromhex("0c 00 00 00 01 01 00"), 0, 5) == (1, 7, 0, 5, 5, 1)
print(scanning.__file__, scanning.scan.__module__)
"""


def build(directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """pip builds a wheel of the working tree into `directory`."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-v",
        "--no-deps",
        "--wheel-dir",
        str(directory),
        str(ROOT),
    ]
    clean = {name: value for name, value in os.environ.items() if name != "KCOMPAT_NATIVE"}
    return subprocess.run(
        command, env=clean | environment, capture_output=True, text=True, timeout=limit_s(300), check=False
    )


NOT_WANTED = pytest.mark.thorough("the wheel without a compiler is the same")


@pytest.mark.parametrize(
    ("environment", "scanner", "tag"),
    [
        pytest.param({}, "kcompat.records._native", "-cp311-abi3-", marks=COMPILER),
        pytest.param({"KCOMPAT_NATIVE": "0"}, "kcompat.records._python", "-py3-none-any", marks=NOT_WANTED),
        (NO_COMPILER, "kcompat.records._python", "-py3-none-any"),
    ],
    ids=["compiler", "not wanted", "no compiler"],
)
def test_a_wheel_works(environment: dict[str, str], scanner: str, tag: str, tmp_path: Path) -> None:
    built = build(tmp_path, **environment)
    assert built.returncode == 0, built.stdout + built.stderr
    assert ("goes without its native" in built.stdout + built.stderr) == (environment is NO_COMPILER)
    [wheel] = tmp_path.glob("*.whl")
    assert tag in wheel.name
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.endswith((".c", ".h"))]
        archive.extractall(unpacked)
    environment = os.environ | {"PYTHONPATH": str(unpacked), "KCOMPAT_NATIVE": ""}
    command = [sys.executable, "-c", CHECK]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
    file, module = ran.stdout.split()
    assert Path(file).is_relative_to(unpacked)
    assert module.endswith(scanner.rpartition(".")[2])


@pytest.mark.thorough("the wheel without a compiler says what it lacks")
def test_a_build_that_must_be_native_fails_without_a_compiler(tmp_path: Path) -> None:
    built = build(tmp_path, KCOMPAT_NATIVE="1", **NO_COMPILER)
    assert built.returncode != 0
    assert not list(tmp_path.glob("*.whl"))
