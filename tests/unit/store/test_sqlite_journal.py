from __future__ import annotations

import asyncio
import signal
import sqlite3
import sys
from typing import TYPE_CHECKING

import pytest

from kcompat.store.interface import OPEN_ACL, Access, Create, Stat, StoreUnavailableError
from kcompat.store.process_store import ProcessStore
from kcompat.store.sqlite_journal import FORMAT_VERSION, SqliteJournal

if TYPE_CHECKING:
    from pathlib import Path


def open_store(path: Path) -> ProcessStore:
    return ProcessStore(SqliteJournal(path), lambda: 5)


async def test_everything_but_ephemerals_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    store = open_store(path)
    session = await store.session()
    await session.create("/a", b"1")
    await session.set("/a", b"2")
    await session.create("/a/b_", b"\x00\xff", sequential=True)
    await session.create("/gone")
    await session.delete("/gone")
    before = {path: node.stat() for path, node in store.tree.nodes.items()}
    zxid = store.tree.zxid
    await store.close()

    store = open_store(path)
    assert {path: node.stat() for path, node in store.tree.nodes.items()} == before
    assert store.tree.zxid == zxid
    session = await store.session()
    assert (await session.get("/a/b_0000000000"))[0] == b"\x00\xff"
    assert await session.create("/a/b_", sequential=True) == "/a/b_0000000001"
    await store.close()


CRASH = """
import asyncio, os, signal, sys
from pathlib import Path
from kcompat.store.process_store import ProcessStore
from kcompat.store.sqlite_journal import SqliteJournal

async def main():
    session = await ProcessStore(SqliteJournal(Path(sys.argv[1])), lambda: 5).session()
    await session.create("/a")
    await session.create("/controller", ephemeral=True)
    for number in range(20):
        await session.create(f"/a/{number}")
    print((await session.exists("/a/19")).czxid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_a_kill_takes_nothing_that_was_answered_but_the_sessions(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CRASH, str(path), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await killed.communicate()
    last_zxid = int(output)
    assert killed.returncode == -signal.SIGKILL
    store = open_store(path)
    session = await store.session()
    assert len(await session.children("/a")) == 20
    assert await session.exists("/controller") is None
    await session.create("/controller", ephemeral=True)
    stat = await session.exists("/controller")
    assert stat is not None
    assert stat.czxid > last_zxid
    store.tree.check_invariants()
    await store.close()


def test_a_new_file_is_whole_before_anything_is_written(tmp_path: Path) -> None:
    """Later answers are in the log beside the file, which SQLite drops if the file itself is empty."""
    path = tmp_path / "metadata.db"
    journal = SqliteJournal(path)
    assert (tmp_path / "metadata.db-wal").stat().st_size == 0
    copied = tmp_path / "copied.db"
    copied.write_bytes(path.read_bytes())
    journal.close()
    copy = SqliteJournal(copied)
    assert copy.load().zxid == 0
    copy.close()


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_file_whose_making_was_cut_short_is_made_anew(tmp_path: Path, *, is_begun: bool) -> None:
    path = tmp_path / "metadata.db"
    path.touch()
    if is_begun:
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA journal_mode = WAL")
        db.close()
    journal = SqliteJournal(path)
    assert journal.load().zxid == 0
    journal.close()


async def test_a_new_file_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    store = ProcessStore(SqliteJournal(tmp_path / "metadata.db"), lambda: 0)
    await (await store.session()).create("/a")
    modes = modes_in(tmp_path)
    await store.close()
    assert modes.keys() > {"metadata.db"}
    assert set(modes.values()) == {0o600}


def test_an_older_file_is_closed_to_others(tmp_path: Path) -> None:
    path, log = tmp_path / "metadata.db", tmp_path / "metadata.db-wal"
    SqliteJournal(path).close()
    log.touch()
    for each in (path, log):
        each.chmod(0o644)
    journal = SqliteJournal(path)
    assert set(modes_in(tmp_path).values()) == {0o640}
    journal.close()


def modes_in(directory: Path) -> dict[str, int]:
    """Return the permissions of the files in a directory."""
    return {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}


async def test_a_file_in_use_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path / "metadata.db")
    with pytest.raises(StoreUnavailableError, match="in use by another broker"):
        open_store(tmp_path / "metadata.db")
    await store.close()


def test_a_file_from_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    SqliteJournal(path).close()
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    database.close()
    with pytest.raises(StoreUnavailableError, match="written by a newer kcompat"):
        open_store(path)


async def test_a_file_of_the_first_format_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    database = sqlite3.connect(path)
    database.executescript(
        """
        CREATE TABLE node (
            path TEXT PRIMARY KEY, data BLOB NOT NULL, czxid INTEGER NOT NULL, mzxid INTEGER NOT NULL,
            ctime_ms INTEGER NOT NULL, mtime_ms INTEGER NOT NULL, version INTEGER NOT NULL,
            cversion INTEGER NOT NULL, ephemeral_owner INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE last_transaction (zxid INTEGER NOT NULL);
        INSERT INTO last_transaction VALUES (7);
        INSERT INTO node VALUES ('/a', x'78', 3, 7, 1, 2, 1, 0, 0);
        PRAGMA application_id = 1801678192;
        PRAGMA user_version = 1;
        """
    )
    database.close()
    for _ in range(2):
        store = open_store(path)
        session = await store.session()
        assert await session.get("/a") == (b"x", Stat(3, 7, 1, 2, 1, 0, 0, 0, 3))
        assert store.tree.get("/a").acl == OPEN_ACL
        await store.close()


async def test_access_control_lists_survive(tmp_path: Path) -> None:
    acl = (Access(31, "digest", "alice:x="), Access(1, "world", "anyone"))
    store = open_store(tmp_path / "metadata.db")
    session = await store.session()
    await session.multi([Create("/a", acl=acl), Create("/a/b")])
    stat = await session.exists("/a")
    await store.close()
    store = open_store(tmp_path / "metadata.db")
    assert store.tree.get("/a").acl == acl
    assert store.tree.get("/a/b").acl == OPEN_ACL
    assert store.tree.get("/a").stat() == stat
    await store.close()


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE theirs (x)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnavailableError, match="another program"):
        open_store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [(b"not a database at all" * 100, "is damaged"), (b"SQLite format 3\0" + b"\xff" * 5000, "is damaged")],
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: bytes, sentence: str) -> None:
    path = tmp_path / "metadata.db"
    path.write_bytes(damage)
    with pytest.raises(StoreUnavailableError, match=sentence):
        open_store(path)


async def test_damage_in_the_middle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    store = open_store(path)
    session = await store.session()
    for number in range(200):
        await session.create(f"/{number}", bytes(100))
    await store.close()
    data = bytearray(path.read_bytes())
    data[4096 * 2 : -4096] = b"\xaa" * (len(data) - 4096 * 3)
    path.write_bytes(data)
    with pytest.raises(StoreUnavailableError, match="is damaged"):
        open_store(path)


def test_a_node_without_its_parent_is_damage_and_the_file_is_released(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    SqliteJournal(path).close()
    database = sqlite3.connect(path)
    database.execute("INSERT INTO node VALUES ('/a/b', x'', 1, 1, 0, 0, 0, 0, 0, 1, 0, NULL)")
    database.commit()
    database.close()
    journal = SqliteJournal(path)
    with pytest.raises(StoreUnavailableError, match="is damaged"):
        ProcessStore(journal, lambda: 5)
    SqliteJournal(path).close()


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="cannot be opened"):
        open_store(tmp_path / "absent" / "metadata.db")


async def test_a_write_that_fails_changes_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    store = open_store(tmp_path / "metadata.db")
    session = await store.session()
    await session.create("/a", b"1")
    journal = store._journal
    assert isinstance(journal, SqliteJournal)
    (pages,) = journal._db.execute("PRAGMA page_count").fetchone()
    journal._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailableError, match="full"):
        await session.set("/a", bytes(1_000_000))
    journal._db.execute("PRAGMA max_page_count = 1000000")
    assert (await session.get("/a"))[0] == b"1"
    await session.set("/a", b"2", 0)
    await store.close()
    store = open_store(tmp_path / "metadata.db")
    assert store.tree.get("/a").data == b"2"
    await store.close()
