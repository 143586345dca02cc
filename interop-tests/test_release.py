"""The files of a release, built, checked and installed as users do it, and the workflow that builds them."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from other_python import find
from support.eventually import limit_s
from support.page_blocks import blocks
from support.places import REPOSITORY, VENVS
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TOOLS = VENVS / "release" / "bin"
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
ADDRESS = "https://example.com/people/kcompat"
BUILT = pytest.mark.thorough(
    "test_install.py builds wheels; test_its_workflows_are_workflows checks the rest"
)

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(not TOOLS.exists(), reason="run python interop-tests/fetch.py venv-release"),
]


def run(*command: str | Path, **environment: str) -> str:
    """Return the output of a command; fail unless it succeeds."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("KCOMPAT_", "PYTHONPATH"))
    }
    ran = subprocess.run(
        command, env=clean | environment, capture_output=True, text=True, check=False, timeout=limit_s(300)
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_its_workflows_are_workflows() -> None:
    run(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)


def test_only_the_last_job_may_publish_and_only_when_all_others_have_ended() -> None:
    workflow: dict[Any, Any] = yaml.safe_load((REPOSITORY / ".github/workflows/release.yml").read_text())
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML takes the key `on` for a truth value
    jobs = workflow["jobs"]
    needed = {name: {*_listed(job.get("needs", []))} for name, job in jobs.items()}
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    before: set[str] = set()
    waiting = {"publish"}
    while waiting:
        before |= waiting
        waiting = set().union(*(needed[name] for name in waiting)) - before
    assert before == jobs.keys()


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("platform", "processor", "wheels"),
    [
        ("linux", "x86_64", ["cp311-manylinux_x86_64", "cp311-musllinux_x86_64"]),
        ("linux", "aarch64", ["cp311-manylinux_aarch64", "cp311-musllinux_aarch64"]),
        ("macos", "x86_64", ["cp311-macosx_x86_64"]),
        ("macos", "arm64", ["cp311-macosx_arm64"]),
    ],
)
def test_one_wheel_is_built_for_each_platform(platform: str, processor: str, wheels: list[str]) -> None:
    options = ("--print-build-identifiers", "--platform", platform, "--archs", processor, REPOSITORY)
    assert run(TOOLS / "cibuildwheel", *options).split() == wheels


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files of a release are."""
    directory = tmp_path_factory.mktemp("release")
    run(TOOLS / "python", REPOSITORY / "release" / "build.py", directory, KCOMPAT_REPOSITORY=ADDRESS)
    return directory


def only(built: Path, pattern: str) -> Path:
    (file,) = built.glob(pattern)
    return file


@BUILT
def test_a_release_has_a_source_distribution_and_two_wheels(built: Path) -> None:
    assert len(list(built.iterdir())) == 3
    only(built, "kcompat-*.tar.gz")
    wheels = [only(built, "*-py3-none-any.whl"), only(built, "*-cp311-abi3-*linux*.whl")]
    assert "-linux_" not in wheels[1].name
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            assert f"Project-URL: Source, {ADDRESS}\n" in archive.read(metadata).decode()
            assert archive.read("kcompat/commit.txt").strip()


def install(python: str | Path, place: Path, wheel: Path) -> Path:
    """Return the Python of a new environment in which the wheel was installed without a compiler."""
    run(python, "-m", "venv", place)
    ours = place / "bin" / "python"
    run(
        ours,
        "-m",
        "pip",
        "install",
        "-q",
        "--only-binary",
        ":all:",
        wheel,
        "kafka-python",
        PATH=str(place / "bin"),
    )
    return ours


@BUILT
@pytest.mark.parametrize(
    ("wheel", "options"),
    [("*-cp311-abi3-*.whl", ()), ("*-py3-none-any.whl", ("--pure",))],
    ids=["abi3", "pure"],
)
def test_a_wheel_writes_its_first_record(
    wheel: str, options: Sequence[str], built: Path, tmp_path: Path
) -> None:
    python = install(sys.executable, tmp_path / "venv", only(built, wheel))
    said = run(python, REPOSITORY / "release" / "first_record.py", *options, PATH=str(python.parent))
    assert "commit unknown" not in said


@BUILT
def test_the_same_wheel_serves_another_python(built: Path, tmp_path: Path) -> None:
    other = find()
    if other is None:
        pytest.skip("this machine has no other Python from 3.11 on")
    python = install(other[1], tmp_path / "venv", only(built, "*-cp311-abi3-*.whl"))
    said = run(python, REPOSITORY / "release" / "first_record.py", PATH=str(python.parent))
    assert f"native extensions in use, CPython {other[0]}." in said


def runs_without_installation() -> list[str]:
    """Return the commands of README.md that run kcompat from an index."""
    page = blocks((REPOSITORY / "README.md").read_text())
    commands = [each.text for block in page if block.language == "console" for each in block.commands]
    return [command for command in commands if command.startswith(("uvx ", "pipx "))]


@BUILT
@pytest.mark.parametrize("command", runs_without_installation())
def test_it_runs_without_being_installed(command: str, built: Path, tmp_path: Path) -> None:
    wheel = only(built, "*-cp311-abi3-*.whl")
    name, *words = command.split()
    before, after = words[: words.index("kcompat")], words[words.index("kcompat") + 1 :]
    named = (
        ("--python", sys.executable, "--from", wheel, "kcompat")
        if name == "uvx"
        else ("--spec", wheel, "kcompat")
    )
    assert after == ["start"]
    port = str(free_port())
    places = {key: str(tmp_path / key) for key in ("UV_CACHE_DIR", "PIPX_HOME", "PIPX_BIN_DIR")}
    words = [str(word) for word in (TOOLS / name, *before, *named, *after, "--memory", "--port", port)]
    with subprocess.Popen(
        words, env=os.environ | places, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as broker:
        try:
            assert broker.stdout is not None
            assert f"listening on localhost:{port}" in broker.stdout.readline()
        finally:
            os.killpg(broker.pid, 15)
