"""The source distribution has what its tests need."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
from typing import TYPE_CHECKING

import pytest

from support.places import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path


def run(*command: str | Path, cwd: Path, imports: Path) -> str:
    """Return the output of a command that finds its packages in `imports` first."""
    environment = os.environ | {"PYTHONPATH": str(imports), "KCOMPAT_NATIVE": ""}
    ran = subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a source distribution of the working tree was unpacked."""
    scratch = tmp_path_factory.mktemp("sdist")
    backend = scratch / "backend"
    wanted = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["build-system"]["requires"]
    install = ("-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", backend)
    run(*install, *wanted, cwd=REPOSITORY, imports=backend)
    run("-m", "hatchling", "build", "-t", "sdist", "-d", scratch, cwd=REPOSITORY, imports=backend)
    [archive] = scratch.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(scratch, filter="data")
    return scratch / archive.name.removesuffix(".tar.gz")


def test_it_has_the_demo_the_examples_and_all_that_a_wheel_is_built_from(unpacked: Path) -> None:
    examples = [path.relative_to(REPOSITORY) for path in REPOSITORY.glob("spark-examples/*.py")]
    build = ("hatch_build.py", "hatch_metadata.py", "release/build.py", "deploy/kcompat.service")
    assert examples
    assert [path for path in ("demo/run.py", *build, *examples) if not (unpacked / path).is_file()] == []
    assert [path.name for path in (unpacked / "kcompat").rglob("*.c")]
    assert not list((unpacked / "kcompat").rglob("*.so"))


KINDS = ("wire", "simulation", "property")
"""Folders whose tests import most of the shared tools and are soon collected."""


@pytest.mark.parametrize(
    "kinds",
    [KINDS, pytest.param((*KINDS, "unit"), marks=pytest.mark.thorough("all but the unit tests are found"))],
)
def test_its_tests_are_found(unpacked: Path, kinds: tuple[str, ...]) -> None:
    paths = [f"tests/{kind}" for kind in kinds]
    collect = ("-m", "pytest", "-q", "--assert=plain", "--collect-only")
    found = run(*collect, *paths, cwd=unpacked, imports=unpacked)
    for path in paths:
        assert f"\n{path}/" in f"\n{found}"


@pytest.mark.thorough("the unit tests of the clone pass")
def test_its_unit_tests_pass(unpacked: Path) -> None:
    """The quick ones, and one which sees that it is the unpacked package that they test."""
    (unpacked / "tests" / "unit" / "test_place.py").write_text(
        f"import kcompat\ndef test_place():\n    assert kcompat.__file__.startswith({str(unpacked)!r})\n"
    )
    quick = [f"tests/unit/{name}" for name in ("config", "protocol", "records", "test_place.py")]
    ran = run("-m", "pytest", "-q", "-p", "no:cacheprovider", *quick, cwd=unpacked, imports=unpacked)
    assert " passed" in ran
