"""The directory in which all clones on this machine share what `fetch.py` has fetched and built.

It is ``$XDG_CACHE_HOME/kcompat-tests``, or ``~/.cache/kcompat-tests``. Each entry is a directory named after
a part and a digest of its inputs, so clones of different commits use one cache; a complete entry is never
changed. The whole directory can be deleted while no test runs.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMPLETE: Final = ".complete"
"""Name of the empty file that marks a complete entry."""


def default_root() -> Path:
    """Return the directory of this user's cache."""
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "kcompat-tests"


class MachineCache:
    """The cache below `root`. One process at a time adds an entry; others wait for it and use its result."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.maven_repository = root / "maven"
        """Maven's local repository for our poms. The user's own, ``~/.m2/repository``, must not get them:
        Maven leaves poms without their jars there, with which Spark's ``spark.jars.packages`` (Ivy) fails.
        """

    def provide(self, name: str, digest: str, fill: Callable[[Path], None]) -> Path:
        """Return the entry of this part and digest. Where it is missing or incomplete, `fill` fills an empty
        directory at its final path; an error of `fill` leaves the entry incomplete.
        """
        entry = self.root / f"{name}-{digest[:16]}"
        with self._locked():
            if not (entry / COMPLETE).exists():
                if entry.exists():
                    shutil.rmtree(entry)
                entry.mkdir()
                fill(entry)
                (entry / COMPLETE).touch()
        return entry

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "lock").open("w") as file:  # the end of a process releases its lock too
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def link(place: Path, entry: Path) -> None:
    """Make `place` a symbolic link to `entry`; what stood at `place` is removed."""
    place.parent.mkdir(parents=True, exist_ok=True)
    new = place.with_name(f".{place.name}-{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(entry)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    new.replace(place)
