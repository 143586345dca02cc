"""kazoo's own tests, run against our ZooKeeper port.

Left out is what no single server without TLS, SASL and a super user can do; each with its reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import kazoo.tests
import pytest

from support.places import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping

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


@pytest.mark.timeout(600)
def test_kazoo_finds_nothing_wrong(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name in LEFT_OUT:
        assert (TESTS / name.partition("::")[0]).is_file(), name
    command = [sys.executable, "-m", "pytest", "-q", "-c", "pytest.ini", "-p", "kazoo_cluster"]
    command += [f"-pno:{plugin}" for plugin in ("randomly", "cacheprovider", "asyncio", "xdist")]
    for name in LEFT_OUT:
        command += ["--ignore", f"{TESTS}/{name}"] if name.endswith(".py") else ["--deselect", name]
    paths = [REPOSITORY, REPOSITORY / "tests", REPOSITORY / "interop-tests"]
    environment = os.environ | {"ZOOKEEPER_VERSION": "3.8.4", "PYTHONPATH": os.pathsep.join(map(str, paths))}
    ended = subprocess.run(
        [*command, "--rootdir", str(TESTS), "--timeout", "60", str(TESTS)],
        cwd=tmp_path, env=environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]
    passed = re.search(r"(\d+) passed", ended.stdout)
    assert passed is not None
    assert int(passed[1]) >= AT_LEAST, ended.stdout[-500:]
