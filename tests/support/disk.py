"""A disk that is made of the operations it was given: as the operating system shows it, and as a power cut
leaves it.

The model of a power cut is that of a journaling file system with ordered data (ext4, xfs):

- Changes of names and sizes (create, rename, unlink, mkdir, rmdir, truncate) reach the device in their
  order: some number of the first of them survives. Syncing a file forces those up to the last one that
  touched it, syncing a directory those up to the last one in it.
- Bytes reach the device file by file, whenever they like, a file as long as they make it: what was written
  since it was last synced may be there, in part, or not at all, or as zeros; also where a truncation that
  came before is not.
- A transaction of the metadata store is on the device when it was answered: SQLite promises that.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kcompat.store.tree import StoredNode


class Create(Struct, frozen=True):
    """A new file, empty."""

    file: int
    path: str


class Write(Struct, frozen=True):
    """Bytes at a position of a file."""

    file: int
    position: int
    data: bytes


class Resize(Struct, frozen=True):
    """A file is cut, or extended with zeros."""

    file: int
    size: int


class Rename(Struct, frozen=True):
    """A file or directory changes its name and takes the place of what had the new one."""

    source: str
    target: str


class Unlink(Struct, frozen=True):
    """A name of a file goes."""

    path: str


class MakeDirectory(Struct, frozen=True):
    """A new directory, empty."""

    path: str


class RemoveDirectory(Struct, frozen=True):
    """An empty directory goes."""

    path: str


class Sync(Struct, frozen=True):
    """The bytes of a file are forced to the device."""

    file: int


class SyncDirectory(Struct, frozen=True):
    """The names in a directory are forced to the device."""

    path: str


class SyncAll(Struct, frozen=True):
    """Everything is forced to the device."""


class Commit(Struct, frozen=True):
    """A transaction of the metadata store."""

    zxid: int
    nodes: Mapping[str, StoredNode | None]


DiskOperation = (
    Create
    | Write
    | Resize
    | Rename
    | Unlink
    | MakeDirectory
    | RemoveDirectory
    | Sync
    | SyncDirectory
    | SyncAll
    | Commit
)
_SYNCS = Sync | SyncDirectory | SyncAll


class Fate(enum.Enum):
    """The fate of a file's unsynced bytes in a power cut."""

    KEPT = enum.auto()
    HALF = enum.auto()
    ZEROS = enum.auto()
    LOST = enum.auto()


Entries = dict[str, "int | Entries"]


class Disk:
    """Names and bytes after some operations. `nodes` is what the metadata store holds."""

    def __init__(self, operations: Sequence[DiskOperation] = ()) -> None:
        self.root: Entries = {}
        self.files: dict[int, bytearray] = {}
        self.nodes: dict[str, StoredNode] = {}
        self.zxid = 0
        for operation in operations:
            self.apply(operation)

    def apply(self, operation: DiskOperation) -> None:
        """Do what the operation does while there is power."""
        match operation:
            case Create(file, path):
                entries, name = self._locate(path)
                entries[name] = file
                self.files[file] = bytearray()
            case Write(file, position, data):
                content = self.files[file]
                content.extend(bytes(max(position - len(content), 0)))
                content[position : position + len(data)] = data
            case Resize(file, size):
                content = self.files[file]
                del content[size:]
                content.extend(bytes(size - len(content)))
            case Rename(source, target):
                entries, name = self._locate(source)
                moved = entries.pop(name)
                entries, name = self._locate(target)
                entries[name] = moved
            case Unlink(path) | RemoveDirectory(path):
                entries, name = self._locate(path)
                assert not (gone := entries.pop(name)) or isinstance(gone, int), "only what is empty goes"
            case MakeDirectory(path):
                entries, name = self._locate(path)
                entries[name] = {}
            case Commit(zxid, nodes):
                self._commit(zxid, nodes)

    def _commit(self, zxid: int, nodes: Mapping[str, StoredNode | None]) -> None:
        self.zxid = zxid
        for path, node in nodes.items():
            if node is None:
                self.nodes.pop(path, None)
            else:
                self.nodes[path] = node

    def _locate(self, path: str) -> tuple[Entries, str]:
        """The directory that has, or gets, the last name of `path`."""
        *above, name = path.split("/")
        entries = self.root
        for step in above:
            below = entries[step]
            assert isinstance(below, dict), f"{path} lies in a directory"
            entries = below
        return entries, name

    def tree(self) -> dict[str, bytes | None]:
        """The content of each file by its path, None for directories."""
        found: dict[str, bytes | None] = {}
        waiting: list[tuple[str, Entries]] = [("", self.root)]
        while waiting:
            prefix, entries = waiting.pop()
            for name, entry in entries.items():
                if isinstance(entry, int):
                    found[prefix + name] = bytes(self.files[entry])
                else:
                    found[prefix + name] = None
                    waiting.append((f"{prefix}{name}/", entry))
        return found

    def write_to(self, home: Path) -> None:
        """Make these files in an empty directory."""
        for path, content in self.tree().items():  # a directory comes before what is in it
            if content is None:
                (home / path).mkdir()
            else:
                (home / path).write_bytes(content)


def tree_of(home: Path) -> dict[str, bytes | None]:
    """Return the content of an existing directory in the form of `Disk.tree`."""
    return {
        str(path.relative_to(home)): None if path.is_dir() else path.read_bytes()
        for path in home.rglob("*")
        if path.is_dir() or path.is_file()
    }


def torn(operations: Sequence[DiskOperation], size: int) -> Disk:
    """A process dies inside the last operation, a write: `size` of its bytes are there."""
    *before, last = operations
    assert isinstance(last, Write), "only a write can be torn"
    return Disk([*before, Write(last.file, last.position, last.data[:size])])


class PowerCut:
    """The possible states of a disk when the power fails during some operations."""

    def __init__(self, operations: Sequence[DiskOperation]) -> None:
        self._operations = operations
        self._synced: dict[int, int] = {}
        """By file: how many of the operations its last sync covers."""
        self.least = 0
        """So many of the operations have surely changed names and sizes."""
        touched: dict[int, int] = {}
        in_directory: dict[str, int] = {}
        for number, operation in enumerate(operations):
            match operation:
                case Create(file, path):
                    touched[file] = in_directory[_parent(path)] = number + 1
                case Write(file) | Resize(file):
                    touched[file] = number + 1
                case Unlink(path) | MakeDirectory(path) | RemoveDirectory(path):
                    in_directory[_parent(path)] = number + 1
                case Rename(source, target):
                    in_directory[_parent(source)] = in_directory[_parent(target)] = number + 1
                case Sync(file):
                    self._synced[file] = number
                    self.least = max(self.least, touched[file])
                case SyncDirectory(path):
                    self.least = max(self.least, in_directory.get(path, 0))
                case SyncAll():
                    self.least = number
                    self._synced = dict.fromkeys(touched, number)

    @property
    def unsynced(self) -> list[int]:
        """The files with bytes that were not synced."""
        return sorted(
            {
                operation.file
                for number, operation in enumerate(self._operations)
                if isinstance(operation, Write) and number >= self._synced.get(operation.file, 0)
            }
        )

    @property
    def name_changes(self) -> list[int]:
        """How many operations may have changed names and sizes: each number that makes a difference."""
        return [
            self.least,
            *(
                number + 1
                for number, operation in enumerate(self._operations)
                if number >= self.least and not isinstance(operation, Write | Commit | _SYNCS)
            ),
        ]

    def leaves(self, names: int, fate: Fate | Mapping[int, Fate]) -> Disk:
        """Names and sizes as after `names` of the operations, and the unsynced bytes by their fate or that of
        their file.
        """
        assert names >= self.least, "what was synced is there"
        fates = dict.fromkeys(self.unsynced, fate) if isinstance(fate, Fate) else fate
        half = self._halves()
        disk = Disk()
        for number, operation in enumerate(self._operations):
            match operation:
                case Commit():
                    disk.apply(operation)
                case Write(file):
                    if number < self._synced.get(file, 0):
                        disk.apply(operation)
                    elif file in disk.files:
                        _write(disk, operation, fates[file], half[file] - number)
                case _ if number < names:
                    disk.apply(operation)
        return disk

    def _halves(self) -> dict[int, int]:
        """By file: the number of the write that is torn if half of what was not synced is lost."""
        writes: dict[int, list[int]] = {}
        for number, operation in enumerate(self._operations):
            if isinstance(operation, Write) and number >= self._synced.get(operation.file, 0):
                writes.setdefault(operation.file, []).append(number)
        return {file: numbers[len(numbers) // 2] for file, numbers in writes.items()}


def _write(disk: Disk, write: Write, fate: Fate, until_torn: int) -> None:
    """A write that was not synced; `until_torn` is 0 for the one that is torn, negative after it."""
    match fate:
        case Fate.KEPT:
            disk.apply(write)
        case Fate.ZEROS:
            disk.apply(Write(write.file, write.position, bytes(len(write.data))))
        case Fate.HALF if until_torn >= 0:
            size = len(write.data) if until_torn else len(write.data) // 2
            disk.apply(Write(write.file, write.position, write.data[:size]))


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
