"""The methods of a `Broker` that return it to an earlier state, for example for each test: `reset`,
`snapshot` and `restore`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NoReturn

from kcompat.errors import SnapshotError, UsageError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.snapshots import Snapshot, Snapshots
    from kcompat.node.broker import BrokerNode

GO_BACK_TIMEOUT_S = 30.0
ANSWER_TIMEOUT_S = 5.0


class Rewindable(ABC):
    """Base class of a broker that can go back to an earlier state while its port stays the same."""

    _snapshots: Snapshots

    @abstractmethod
    def _running(self) -> tuple[LoopThread, BrokerNode]:
        """Return the thread and the running broker. Raises UsageError if it is not running."""

    @abstractmethod
    def stop(self) -> None:
        """Shut the broker down."""

    def _remember(self, node: BrokerNode) -> None:
        """Keep the state of a broker that has just started, for `reset`. Runs on the broker's event loop."""
        from kcompat.instrumentation.snapshots import Snapshots  # late: what a start needs is imported then

        self._snapshots = Snapshots(node)

    def _forget_snapshots(self) -> None:
        """Remove the files of all snapshots before the broker stops, on its event loop."""
        self._snapshots.close()

    def reset(self) -> None:
        """Go back to the state right after the start: topics given at the start exist and are empty.

        Clients that are connected see a restart of the broker: their connections are closed, and groups do
        not know their members any more. Port, cluster id and certificates stay. Ctrl-C raises
        KeyboardInterrupt when the reset is complete; a second one stops the broker.

        Raises:
            UsageError: the broker is not started, or had records when it was started, or its disk fails.
            SnapshotError: the broker could not start again, and is stopped; or another call, such as `add`,
                does not end within 30 seconds, and nothing has changed.
        """
        self._go_back(self._of_this_run().reset())

    def snapshot(self) -> Snapshot:
        """Return the state of the broker now, for `restore`: records, offsets, groups, transactions, topics,
        configs, ACLs, users, tokens and quotas. Clients notice nothing.

        Raises:
            UsageError: the broker is not started, or in a state that cannot be restored.
            SnapshotError: there is no room for the copies of the files.
        """
        snapshots = self._of_this_run()
        thread, _ = self._running()
        return thread.call(snapshots.take())

    def restore(self, mark: Snapshot) -> None:
        """Go back to a snapshot of this broker, as often as you like and in any order; clients see what
        `reset` describes.

        Raises:
            UsageError: the broker is not started, or `mark` was not taken since its last start.
            SnapshotError: as for `reset`.
        """
        self._go_back(self._of_this_run().restore(mark))

    def _of_this_run(self) -> Snapshots:
        self._running()
        return self._snapshots

    def _go_back(self, work: Coroutine[object, object, None]) -> None:
        thread, _ = self._running()
        try:
            thread.call(work, GO_BACK_TIMEOUT_S, finishes=True)
        except UsageError:
            raise
        except KeyboardInterrupt:
            if not self._snapshots.is_running:  # interrupted twice
                self.stop()
            raise
        except TimeoutError as error:
            if self._waits_for_others(thread):
                raise SnapshotError(
                    f"another call of the broker did not end within {GO_BACK_TIMEOUT_S:.0f} s: "
                    "let it end before the broker goes back"
                ) from error
            self.stop()
            raise SnapshotError(
                f"the broker did not start again within {GO_BACK_TIMEOUT_S:.0f} s, and is stopped"
            ) from error
        except BaseException:
            self.stop()
            raise

    def _waits_for_others(self, thread: LoopThread) -> bool:
        """Return whether a reset or restore that was cancelled had not begun, so that the broker runs as
        before.
        """
        from kcompat.embedded.thread import patience  # imports asyncio

        try:
            with patience(ANSWER_TIMEOUT_S):
                return thread.do(lambda: self._snapshots.is_running)
        except TimeoutError:
            return False


class NotRewindable:
    """Base class of a cluster, which cannot return to an earlier state."""

    def reset(self) -> NoReturn:
        """Raise UsageError: only a `Broker` can return to an earlier state."""
        raise _only_one_broker()

    def snapshot(self) -> NoReturn:
        """Raise UsageError: only a `Broker` can return to an earlier state."""
        raise _only_one_broker()

    def restore(self, mark: object) -> NoReturn:  # noqa: ARG002 - as for a `Broker`
        """Raise UsageError: only a `Broker` can return to an earlier state."""
        raise _only_one_broker()


def _only_one_broker() -> UsageError:
    return UsageError(
        "the brokers of a cluster cannot go back: use kcompat.Broker, or delete topics with delete_topic()"
    )
