"""Methods of embedded brokers and clusters that return the recorded requests of clients."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec import structs

from kcompat.embedded.observers import observers
from kcompat.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from kcompat.embedded.thread import LoopThread
    from kcompat.instrumentation.recording.entry import ConnectionEvent, RecordedRequest
    from kcompat.instrumentation.recording.recorder import Recorder, RecordingCopy
    from kcompat.node.environment import Environment
    from kcompat.node.hooks import Hooks


class RecordsRequests:
    """Base class of embedded brokers that can record the requests of their clients."""

    _started: tuple[LoopThread, Any] | None
    _records_requests = False
    _recorder: Recorder | None = None

    def requests(
        self,
        client_id: str | None = None,
        api: str | None = None,
        topic: str | None = None,
        since: float | datetime | None = None,
        errors_only: bool = False,
    ) -> list[RecordedRequest]:
        """Return the last requests of clients, the oldest first, with their outcomes.

        `api` is a name such as `"Produce"`; `since` is a time, as of `time.time()` or a datetime. After the
        stop the requests until then are returned.

        Raises:
            UsageError: requests are not recorded, or there is no such API.
        """
        return self._record().requests(client_id, api, topic, since, errors_only)

    def connection_events(self, since: float | datetime | None = None) -> list[ConnectionEvent]:
        """Return the last openings and ends of connections, and why the broker ended them, the oldest first.

        Raises:
            UsageError: requests are not recorded.
        """
        return self._record().connection_events(since)

    def _record(self) -> RecordingCopy:
        recorder = self._recorder
        if recorder is None:
            raise UsageError("requests are not recorded: start the broker with record_requests=True")
        if self._started is None:
            return recorder.snapshot()
        thread, _ = self._started
        return thread.do(recorder.snapshot)

    def _instrumented(self, environment: Environment) -> Environment:
        """Return an environment whose brokers have the usual instruments, and record requests if
        `record_requests` is set or an observer exists.
        """
        from kcompat.instrumentation.recording.instruments import instruments

        attach = instruments(os.environ)
        if not (self._records_requests or observers):
            return structs.replace(environment, instrument=attach)
        from kcompat.instrumentation.recording.recorder import Recorder  # late: most brokers do without

        recorder = self._recorder = Recorder()

        def attach_both(broker: Hooks) -> None:
            attach(broker)
            recorder.attach(broker)

        return structs.replace(environment, instrument=attach_both)
