"""The sessions of clients that came by the port: opened, kept alive, taken up again, ended.

A session is in the store, so that it outlives this process as ZooKeeper's do: for its timeout, in which the
client may come back with the session's id and password. Time is counted in ticks of a timer and not read from
a clock: what this process has slept or its machine was stopped is held against no client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from kcompat.store.tree import StoredSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from random import Random

    from kcompat.clock import Clock, Timer
    from kcompat.promise import Promise
    from kcompat.store.tree import Tree, TreeTransaction

T = TypeVar("T")

TICK_MS: Final = 200
"""Period in ms of the check for silent clients: a session ends within two ticks after its timeout."""

PASSWORD_BYTES: Final = 16


class Backend(Protocol):
    """The metadata store below the server."""

    @property
    def tree(self) -> Tree:
        """The nodes as of the last transaction, to be read only."""

    def transact(self, session_id: int, work: Callable[[TreeTransaction], T]) -> Promise[tuple[int, T]]:
        """Run `work` in a transaction of a session and promise its id, once it is durable, and the result.

        Transactions run in the order they are given. The promise fails with what `work` raises, or with
        StoreUnavailableError; then nothing has changed.
        """


class Client(Protocol):
    """The connection that uses a session."""

    def hang_up(self) -> None:
        """Close the connection."""


class ClientSession:
    """A live session. `client` is its connection, None while it has none."""

    __slots__ = ("client", "due", "id", "is_ending", "password", "timeout_ms")

    def __init__(self, session_id: int, password: bytes, timeout_ms: int) -> None:
        self.id = session_id
        self.password = password
        self.timeout_ms = timeout_ms
        self.client: Client | None = None
        self.is_ending = False
        self.due = 0
        """Tick at which the session ends unless its client sends something before."""


class ClientSessions:
    """The live sessions of clients, by id."""

    def __init__(
        self, backend: Backend, clock: Clock, random: Random, stored: Mapping[int, StoredSession]
    ) -> None:
        """`stored` are sessions of an earlier process: each has its whole timeout to be taken up again."""
        self._backend = backend
        self._clock = clock
        self._random = random
        self._live: dict[int, ClientSession] = {}
        self._due: dict[int, dict[ClientSession, None]] = {}
        self._tick = 0
        self._timer: Timer | None = None
        self._last_id = (clock.now_ms() & (1 << 40) - 1) << 16
        for session_id, session in stored.items():
            self._add(ClientSession(session_id, session.password, session.timeout_ms))
            self._last_id = max(self._last_id, session_id)

    def __len__(self) -> int:
        return len(self._live)

    def by_due_ms(self) -> Iterable[tuple[int, list[ClientSession]]]:
        """Sessions by the ms from now at which they end if nothing is heard, soonest first."""
        return [((due - self._tick) * TICK_MS, list(each)) for due, each in sorted(self._due.items())]

    def create(self, timeout_ms: int) -> Promise[ClientSession]:
        """Create a session, and promise it once it is durable."""
        self._last_id += 1
        session = ClientSession(self._last_id, self._random.randbytes(PASSWORD_BYTES), timeout_ms)
        stored = StoredSession(session.password, timeout_ms)
        opened = self._backend.transact(
            session.id, lambda transaction: transaction.open_session(session.id, stored)
        )
        return opened.map(lambda _: self._add(session))

    def find(self, session_id: int, password: bytes) -> ClientSession | None:
        """Return the live session with this id and password, or None."""
        session = self._live.get(session_id)
        known = session is not None and session.password == password and not session.is_ending
        return session if known else None

    def give(self, session: ClientSession, client: Client) -> None:
        """Give a session to a connection, as its only one."""
        if session.client is not None and session.client is not client:
            session.client.hang_up()
        session.client = client
        self.touch(session)

    def touch(self, session: ClientSession) -> None:
        """Begin the timeout of a session anew: its client was heard."""
        if session.is_ending:
            return
        due = self._tick + 1 - -session.timeout_ms // TICK_MS
        if due != session.due:
            self._forget_due(session)
            session.due = due
            self._due.setdefault(due, {})[session] = None

    def end(self, session: ClientSession) -> Promise[int]:
        """End a session and remove its ephemeral nodes; promise the transaction's id. A session that cannot
        be removed now, as the disk is full, is tried again after its timeout.
        """
        session.is_ending = True
        self._forget_due(session)
        ended = self._backend.transact(session.id, lambda transaction: transaction.end_sessions({session.id}))
        ended.then(lambda _: self._live.pop(session.id, None), lambda _: self._keep(session))
        return ended.map(lambda committed: committed[0])

    def stop(self) -> None:
        """Stop the clock of timeouts. The sessions stay in the store."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _add(self, session: ClientSession) -> ClientSession:
        self._live[session.id] = session
        self.touch(session)
        if self._timer is None:
            self._timer = self._clock.call_later(TICK_MS, self._next_tick)
        return session

    def _keep(self, session: ClientSession) -> None:
        session.is_ending = False
        self.touch(session)

    def _next_tick(self) -> None:
        self._timer = self._clock.call_later(TICK_MS, self._next_tick) if self._live else None
        self._tick += 1
        for session in self._due.pop(self._tick, ()):
            client, session.client = session.client, None
            if client is not None:
                client.hang_up()
            self.end(session).then(lambda _: None, lambda _: None)

    def _forget_due(self, session: ClientSession) -> None:
        sessions = self._due.get(session.due)
        if sessions is not None:
            sessions.pop(session, None)
            if not sessions:
                del self._due[session.due]
