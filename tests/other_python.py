"""Run tests on another Python than this one: ``python tests/other_python.py [OPTION ...] PATH ...``. Without
arguments only that Python's venv is made.

It takes the newest of 3.11 to 3.13 that the machine has beside the one that runs this, from the PATH or from
pyenv, and keeps a venv for it in ``.venvs/`` with the package and the group `test`, nothing more. The options
are pytest's. Where there is no other Python a line says so, and this one runs them; in CI that is a failure.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parent.parent
NEWEST_FIRST = ((3, 13), (3, 12), (3, 11))
INPUTS = ("pyproject.toml", "hatch_build.py", "hatch_metadata.py")


def _candidates(version: str) -> Iterator[str | Path]:
    found = shutil.which(f"python{version}")
    if found:
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True)


def _is_version(python: str | Path, version: str) -> bool:
    """Whether it runs, and is what it is called: a shim of pyenv may stand for nothing."""
    print_version = "import sys; print('%d.%d' % sys.version_info[:2])"
    ran = subprocess.run([python, "-c", print_version], capture_output=True, text=True, check=False)
    return ran.returncode == 0 and ran.stdout.strip() == version


def find() -> tuple[str, str | Path] | None:
    """The newest other version that is there, and its interpreter."""
    for numbers in NEWEST_FIRST:
        version = "{}.{}".format(*numbers)
        for python in _candidates(version) if numbers != sys.version_info[:2] else ():
            if _is_version(python, version):
                return version, python
    return None


def make_venv(version: str, python: str | Path) -> Path:
    """The interpreter of a venv with the package and what its tests need; made anew when that has changed."""
    home = REPOSITORY / ".venvs" / f"python{version}"
    stamp = home / "made-from"
    digest = hashlib.sha256(b"".join((REPOSITORY / name).read_bytes() for name in INPUTS)).hexdigest()
    ours = home / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != digest:
        subprocess.run([python, "-m", "venv", "--clear", home], check=True)
        install = ("-m", "pip", "install", "-q", "--disable-pip-version-check")
        # The extensions of the clone stay those that the first Python has built: they are for all versions.
        environment = {**os.environ, "KCOMPAT_NATIVE": "0"}
        subprocess.run([ours, *install, "pip>=25.1"], check=True)  # the first that installs groups
        package = ("--editable", ".", "--group", "test")
        subprocess.run([ours, *install, *package], cwd=REPOSITORY, check=True, env=environment)
        stamp.write_text(digest)
    return ours


def main() -> int:
    """Find another Python, make its venv, run the tests, and return their exit status."""
    found = find()
    if found is not None:
        version, path = found
        print(f"On Python {version}:", flush=True)
        python: str | Path = make_venv(version, path)
    elif "CI" in os.environ:
        print("There is no other Python from 3.11 to 3.13, neither on the PATH nor in pyenv.")
        return 1
    else:
        print("On this Python, as no other from 3.11 to 3.13 is on the PATH or in pyenv:", flush=True)
        python = sys.executable
    if not sys.argv[1:]:
        return 0
    return subprocess.run(
        [python, "-m", "pytest", "-q", *sys.argv[1:]], cwd=REPOSITORY, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
