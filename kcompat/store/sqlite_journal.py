"""The journal of a `ProcessStore` in one SQLite file, `metadata.db` in the data directory.

The file has one row for each node, and one for each session that outlives the process. SQLite commits one or
more transactions of the store at a time, in WAL mode with `synchronous=FULL`: the commit returns after the
write-ahead log is on the disk, so a confirmed change survives a kill and a power cut. Only the commit waits
for the disk, on a helper thread; the statements before it run on the caller's thread.

The file is locked exclusively while it is open, so a second process cannot open it. A new file can be read
only by its owner, and an older one only by its owner and its group.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from kcompat.store.interface import OPEN_ACL, Acl, NoNodeError, StoreUnavailableError
from kcompat.store.tree import StoredNode, StoredSession, Tree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kcompat.store.tree import Staged

K = TypeVar("K", int, str)

METADATA_FILE = "metadata.db"
"""Name of the file in the first log directory."""

FORMAT_VERSION = 2
_APPLICATION_ID = 1801678192  # "kcmp"

_TABLES = """
CREATE TABLE node (
    path TEXT PRIMARY KEY, data BLOB, czxid INTEGER NOT NULL, mzxid INTEGER NOT NULL,
    ctime_ms INTEGER NOT NULL, mtime_ms INTEGER NOT NULL, version INTEGER NOT NULL, cversion INTEGER NOT NULL,
    ephemeral_owner INTEGER NOT NULL, pzxid INTEGER NOT NULL, aversion INTEGER NOT NULL, acl BLOB
) WITHOUT ROWID;
CREATE TABLE session (id INTEGER PRIMARY KEY, password BLOB NOT NULL, timeout_ms INTEGER NOT NULL);
PRAGMA user_version = 2;
"""

_SCHEMA = f"""
BEGIN;
{_TABLES}
CREATE TABLE last_transaction (zxid INTEGER NOT NULL);
INSERT INTO last_transaction VALUES (0);
PRAGMA application_id = {_APPLICATION_ID};
COMMIT;
"""  # noqa: S608

_FROM_1_TO_2 = f"""
BEGIN;
ALTER TABLE node RENAME TO old;
{_TABLES}
INSERT INTO node SELECT old.*, old.czxid, 0, NULL FROM old;
DROP TABLE old;
COMMIT;
"""  # noqa: S608


class SqliteJournal:
    """Journal of the store in one SQLite file."""

    def __init__(self, path: Path) -> None:
        """Open or create the file. Raises `StoreUnavailableError`, with the reason in one sentence."""
        self._path = path
        with suppress(OSError):  # of a file that is there, or of a fault that SQLite finds too
            # SQLite gives its own files the mode of this one. There are keys of users in it.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _close_to_others(path)
        try:
            # Without an isolation level, transactions begin and end only where this module says so. The
            # connection may be used by other threads, because the helper thread commits.
            self._db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise StoreUnavailableError(f"the metadata store {path} cannot be opened: {error}") from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._db.close()
            raise self._unavailable(error) from error
        except StoreUnavailableError:
            self._db.close()
            raise

    def load(self) -> Tree:
        """Read all nodes and sessions, and the id of the last transaction."""
        try:
            (zxid,) = self._db.execute("SELECT zxid FROM last_transaction").fetchone()
            rows = self._db.execute(
                "SELECT path, data, czxid, mzxid, ctime_ms, mtime_ms, version, cversion, ephemeral_owner, "
                "pzxid, aversion, acl FROM node"
            )
            sessions = self._db.execute("SELECT id, password, timeout_ms FROM session")
            return Tree(
                zxid,
                ((row[0], _stored_node(row[1:])) for row in rows),
                ((row[0], StoredSession(*row[1:])) for row in sessions),
            )
        except sqlite3.Error as error:
            raise self._unavailable(error) from error
        except (NoNodeError, TypeError, ValueError, msgspec.MsgspecError) as error:
            raise self._damaged(error) from error

    async def write(self, zxid: int, staged: Staged) -> None:
        """Write the changes of transactions, and wait until they are on the disk."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT OR REPLACE INTO node VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        path,
                        node.data,
                        node.czxid,
                        node.mzxid,
                        node.ctime_ms,
                        node.mtime_ms,
                        node.version,
                        node.cversion,
                        node.ephemeral_owner,
                        node.pzxid,
                        node.aversion,
                        None if node.acl == OPEN_ACL else msgspec.json.encode(node.acl),
                    )
                    for path, node in staged.nodes.items()
                    if node is not None
                ],
            )
            self._db.executemany("DELETE FROM node WHERE path = ?", _gone(staged.nodes))
            self._db.executemany(
                "INSERT OR REPLACE INTO session VALUES (?, ?, ?)",
                [
                    (session_id, session.password, session.timeout_ms)
                    for session_id, session in staged.sessions.items()
                    if session is not None
                ],
            )
            self._db.executemany("DELETE FROM session WHERE id = ?", _gone(staged.sessions))
            self._db.execute("UPDATE last_transaction SET zxid = ?", (zxid,))
            await asyncio.get_running_loop().run_in_executor(None, self._db.commit)
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise self._unavailable(error) from error

    def close(self) -> None:
        """Merge the write-ahead log into the file, and close the file."""
        self._db.close()

    def _prepare(self) -> None:
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        (application_id,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and application_id != _APPLICATION_ID:
            raise StoreUnavailableError(
                f"{self._path} is not a metadata store but the database of another program"
            )
        if version > FORMAT_VERSION:
            raise StoreUnavailableError(
                f"the metadata store {self._path} has format {version}, written by a newer kcompat; "
                f"this one reads up to {FORMAT_VERSION}"
            )
        if not tables:
            self._create()
            return
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        if version == 1:
            self._db.executescript(_FROM_1_TO_2)

    def _create(self) -> None:
        """Create the tables, and wait until they are on the disk. The statements before need no wait, as
        nothing is stored yet.
        """
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.executescript(_SCHEMA)
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _damaged(self, error: Exception) -> StoreUnavailableError:
        return StoreUnavailableError(
            f"the metadata store {self._path} is damaged ({error}): "
            "move it away, and the logs are adopted without the settings of their topics"
        )

    def _unavailable(self, error: sqlite3.Error) -> StoreUnavailableError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # absent on errors of the Python module itself
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreUnavailableError(
                f"the data directory {self._path.parent} is in use by another broker, "
                f"which holds {self._path.name}: stop that one, or give this one a directory of its own"
            )
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return self._damaged(error)
        return StoreUnavailableError(f"the metadata store {self._path} failed: {error}")


def _stored_node(row: tuple[Any, ...]) -> StoredNode:
    """Return the node in the columns after the path; a missing access control list
    means `OPEN_ACL`.
    """
    node = StoredNode(*row[:-1])
    if row[-1] is not None:
        node.acl = msgspec.json.decode(row[-1], type=Acl)
    return node


def _gone(staged: Mapping[K, object | None]) -> list[tuple[K]]:
    return [(key,) for key, value in staged.items() if value is None]


def _close_to_others(path: Path) -> None:
    """Deny accounts outside its group access to the file, and to files that a crash has left beside it.

    Early versions, which stored no keys of users, created files that everyone could read.
    """
    for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with suppress(OSError):  # not there, or of another owner
            each.chmod(each.stat().st_mode & 0o770)
