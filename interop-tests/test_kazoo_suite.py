"""kazoo's own tests, run against our ZooKeeper port.

Left out is what no single server without TLS, SASL and a super user can do; each with its reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import kazoo.tests
import pytest

from support.places import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TESTS: Final = Path(kazoo.tests.__file__).parent

LEFT_OUT: Final[Mapping[str, str]] = {
    "test_client.py::TestClient::test_update_host_list": "stops one member of an ensemble",
    "test_client.py::TestSSLClient": "TLS",
    "test_client.py::TestReconfig": "changes the members of an ensemble, as its super user",
    "test_connection.py::TestReadOnlyMode": "stops two members of an ensemble",
    "test_sasl.py": "SASL by a package and a Kerberos server that are not there",
    "test_gevent_handler.py": "gevent, which is kazoo's affair",
    "test_eventlet_handler.py": "eventlet, which is kazoo's affair",
}
AT_LEAST: Final = 306
"""How many tests are left, so that none goes unnoticed."""


WAITING: Final = (("test_partitioner.py",), ("test_selectors_select.py", "test_watchers.py"))
"""Files that mostly wait, a process for each group; the other files run in a third."""


@pytest.mark.thorough("test_zookeeper_port.py has the requests of kazoo beside a real ZooKeeper")
@pytest.mark.timeout(600)
def test_kazoo_finds_nothing_wrong(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name in LEFT_OUT:
        assert (TESTS / name.partition("::")[0]).is_file(), name
    apart = {name for group in WAITING for name in group}
    files = {path.name for path in TESTS.glob("test_*.py")} - LEFT_OUT.keys()
    groups = [*WAITING, tuple(sorted(files - apart))]
    assert apart <= files
    with ThreadPoolExecutor(len(groups)) as threads:
        assert sum(threads.map(partial(run, tmp_path), groups)) >= AT_LEAST


def run(directory: Path, names: Sequence[str]) -> int:
    """Run these files beside a ZooKeeper port of their own; return how many tests passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-c", "pytest.ini", "-p", "kazoo_cluster"]
    command += [f"-pno:{plugin}" for plugin in ("randomly", "cacheprovider", "asyncio", "xdist")]
    command += [option for name in LEFT_OUT for option in ("--deselect", name)]
    paths = [REPOSITORY, REPOSITORY / "tests", REPOSITORY / "interop-tests"]
    environment = os.environ | {"ZOOKEEPER_VERSION": "3.8.4", "PYTHONPATH": os.pathsep.join(map(str, paths))}
    ended = subprocess.run(
        [*command, "--rootdir", str(TESTS), "--timeout", "60", *(str(TESTS / name) for name in names)],
        cwd=directory, env=environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]
    passed = re.search(r"(\d+) passed", ended.stdout)
    assert passed is not None, ended.stdout[-500:]
    return int(passed[1])
