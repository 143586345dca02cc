"""Sessions of the clients of the port: opened, kept alive, resumed, ended.

A session is kept in the store, so that it outlives this process as ZooKeeper's sessions do: within its
timeout the client may reconnect with the session's id and password. Time is counted in ticks of a timer and
not read from a clock, so that time for which this process or its machine was suspended does not count against
clients.
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
    """Port to the metadata store of the server."""

    @property
    def tree(self) -> Tree:
        """The tree as of the last transaction; callers must not change it."""

    def transact(self, session_id: int, work: Callable[[TreeTransaction], T]) -> Promise[tuple[int, T]]:
        """Run `work` in a transaction of a session; promise the transaction's id and the result of `work`,
        once the transaction is durable.

        Transactions run in the order of the calls. The promise fails with the exception that `work` raises,
        or with StoreUnavailableError; then nothing has changed.
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
        """Tick at which the session ends, unless its client sends something before."""


class ClientSessions:
    """The live sessions of clients, by id."""

    def __init__(
        self, backend: Backend, clock: Clock, random: Random, stored: Mapping[int, StoredSession]
    ) -> None:
        """Begin with the sessions that the store kept of an earlier process; each can be resumed within its
        whole timeout.
        """
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
        """Return the sessions by the number of ms after which they end unless their clients send something,
        soonest first.
        """
        return [((due - self._tick) * TICK_MS, list(each)) for due, each in sorted(self._due.items())]

    def create(self, timeout_ms: int) -> Promise[ClientSession]:
        """Create a session; promise it once it is durable."""
        self._last_id += 1
        session = ClientSession(self._last_id, self._random.randbytes(PASSWORD_BYTES), timeout_ms)
        stored = StoredSession(session.password, timeout_ms)
        opened = self._backend.transact(
            session.id, lambda transaction: transaction.open_session(session.id, stored)
        )
        return opened.map(lambda _: self._add(session))

    def find(self, session_id: int, password: bytes) -> ClientSession | None:
        """Return the live session with this id and password; None if there is none."""
        session = self._live.get(session_id)
        known = session is not None and session.password == password and not session.is_ending
        return session if known else None

    def give(self, session: ClientSession, client: Client) -> None:
        """Assign a session to a connection; its previous connection is closed."""
        if session.client is not None and session.client is not client:
            session.client.hang_up()
        session.client = client
        self.touch(session)

    def touch(self, session: ClientSession) -> None:
        """Restart the timeout of a session whose client has sent something."""
        if session.is_ending:
            return
        due = self._tick + 1 - -session.timeout_ms // TICK_MS
        if due != session.due:
            self._forget_due(session)
            session.due = due
            self._due.setdefault(due, {})[session] = None

    def end(self, session: ClientSession) -> Promise[int]:
        """End a session and remove its ephemeral nodes; promise the transaction's id.

        If the session cannot be removed now, for example because the disk is full, another attempt follows
        after its timeout.
        """
        session.is_ending = True
        self._forget_due(session)
        ended = self._backend.transact(session.id, lambda transaction: transaction.end_sessions({session.id}))
        ended.then(lambda _: self._live.pop(session.id, None), lambda _: self._keep(session))
        return ended.map(lambda committed: committed[0])

    def stop(self) -> None:
        """Stop the timer of session timeouts. The sessions stay in the store."""
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
