"""Which directories of `--memory` go, and which never do."""

from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kcompat.cli.memory import new_directory, remove_left_directories
from kcompat.log.files import FILES
from kcompat.log.names import LOCK

if TYPE_CHECKING:
    from pathlib import Path


def make(parent: Path, name: str) -> Path:
    directory = parent / name
    (directory / "t-0").mkdir(parents=True)
    (directory / LOCK).touch()
    return directory


def test_a_directory_without_a_broker_goes(tmp_path: Path) -> None:
    left = make(tmp_path, "kcompat-memory-ab_12345")
    remove_left_directories(tmp_path)
    assert not left.exists()


def test_a_directory_in_use_stays(tmp_path: Path) -> None:
    used = make(tmp_path, "kcompat-memory-ab_12345")
    held = FILES.lock(str(used / LOCK))
    remove_left_directories(tmp_path)
    assert (used / "t-0").exists()
    del held
    remove_left_directories(tmp_path)
    assert not used.exists()


def test_one_of_several_brokers_goes_when_all_are_dead(tmp_path: Path) -> None:
    left = tmp_path / "kcompat-memory-ab_12345"
    brokers = [make(left, f"broker-{number}") for number in range(2)]
    held = FILES.lock(str(brokers[1] / LOCK))
    remove_left_directories(tmp_path)
    assert (brokers[0] / "t-0").exists()
    del held
    remove_left_directories(tmp_path)
    assert not left.exists()


@pytest.mark.parametrize(
    "name", ["kcompat-data", "kcompat-memory-", "kcompat-memory-mine", "kcompat-memory-ab_12345.old", "other"]
)
def test_other_directories_stay(tmp_path: Path, name: str) -> None:
    other = make(tmp_path, name)
    remove_left_directories(tmp_path)
    assert (other / "t-0").exists()


def test_a_directory_whose_command_was_killed_before_its_broker_locked_anything_goes(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from kcompat.cli.memory import new_directory\n"
        "with new_directory(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    remove_left_directories(tmp_path)
    assert not left.exists()


def test_a_directory_stays_before_its_broker_has_locked_anything(tmp_path: Path) -> None:
    with new_directory(tmp_path) as fresh:
        remove_left_directories(tmp_path)
        assert fresh.exists()


def test_a_directory_that_another_command_is_removing_is_left_to_it(tmp_path: Path) -> None:
    left = make(tmp_path, "kcompat-memory-ab_12345")
    removing = FILES.open_readonly(str(left))
    fcntl.flock(removing.fd, fcntl.LOCK_EX)
    remove_left_directories(tmp_path)
    assert (left / LOCK).exists()


def test_links_and_files_stay(tmp_path: Path) -> None:
    elsewhere = make(tmp_path / "elsewhere", "data")
    (tmp_path / "kcompat-memory-ab_12345").symlink_to(elsewhere)
    (tmp_path / "kcompat-memory-ab_12346").touch()
    remove_left_directories(tmp_path)
    assert (elsewhere / "t-0").exists()
    assert len(list(tmp_path.iterdir())) == 3


def test_a_new_one_is_gone_at_the_end(tmp_path: Path) -> None:
    with new_directory(tmp_path) as directory:
        assert directory.parent == tmp_path
        (directory / LOCK).touch()
        held = FILES.lock(str(directory / LOCK))
        with new_directory(tmp_path) as another:
            assert directory.exists()
            assert another != directory
        del held
    assert list(tmp_path.iterdir()) == []
