"""Recorded requests and events as users see them. Fields are decoded when they are read."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from kcompat.instrumentation.recording.decoding import as_values, read_request, read_response
from kcompat.instrumentation.recording.exchange import Fate
from kcompat.instrumentation.recording.outcome import groups_of, refusals_of, topics_of
from kcompat.instrumentation.request_head import read_head
from kcompat.protocol.api_keys import ApiKey
from kcompat.protocol.errors import ErrorCode
from kcompat.wording import printable

if TYPE_CHECKING:
    from kcompat.instrumentation.recording.exchange import RecordedEvent, RecordedExchange
    from kcompat.instrumentation.recording.outcome import Names, Refusal
    from kcompat.protocol.message import Message

ID_REQUIRED: Final = ErrorCode.MEMBER_ID_REQUIRED.name
"""Error by which a broker gives a new member its id (KIP-394)."""
MOST_SHOWN: Final = 3
"""Maximum number of topics and errors in one line."""
_WORDS: Final = {
    Fate.WAITING: "waiting",
    Fate.SILENT: "no answer wanted",
    Fate.CLOSED: "connection closed",
}


def api_name(key: ApiKey) -> str:
    """Return Kafka's name of an API, such as `ListOffsets`."""
    return key.name.title().replace("_", "")


def api_named(name: str) -> ApiKey | None:
    """Return the API of a name in any case, with or without underscores; None if there is none."""
    wanted = name.replace("_", "").lower()
    return next((key for key in ApiKey if key.name.replace("_", "").lower() == wanted), None)


def clock_text(at_ns: int) -> str:
    """Return a time as local time of day with milliseconds."""
    moment = datetime.fromtimestamp(at_ns // 1_000_000 / 1000)
    return moment.strftime("%H:%M:%S.%f")[:-3]


class RecordedRequest:
    """One request to a broker, with its answer if there is one already. Its `repr` is one line."""

    def __init__(self, exchange: RecordedExchange, broker_id: int, names: Names) -> None:
        self._exchange = exchange
        self._head = read_head(exchange.request)
        self._names = names
        self.broker_id = broker_id
        """Id of the broker that got the request."""

    @property
    def time(self) -> float:
        """Time at which the request came, in seconds since the epoch."""
        return self._exchange.at_ns / 1e9

    @property
    def client_id(self) -> str | None:
        """Client id of the request."""
        return self._head.client_id

    @property
    def api(self) -> str:
        """Name of the API, such as `Produce`; empty if the frame was not a request, or was a bare SASL
        token.
        """
        return "" if self._head.key is None else api_name(self._head.key)

    @property
    def version(self) -> int:
        """Version of the API; -1 if the frame was not a request."""
        return self._head.version

    @property
    def correlation_id(self) -> int:
        """Number that the client gave the request on its connection; -1 if the frame was not a request."""
        return self._head.correlation_id

    @property
    def principal(self) -> str:
        """Principal of the connection, such as `User:alice`."""
        return str(self._exchange.principal)

    @property
    def peer(self) -> str:
        """Address and port that the client connects from."""
        return f"{self._exchange.host}:{self._exchange.port}"

    @property
    def listener(self) -> str:
        """Name of the listener that the client connected to."""
        return self._exchange.listener

    @property
    def duration_ms(self) -> float | None:
        """Milliseconds until the answer was ready, including the wait for records or members; None while the
        request waits.
        """
        return None if self.is_waiting else self._exchange.duration_ns / 1e6

    @property
    def is_waiting(self) -> bool:
        """Whether there is no answer yet."""
        return self._exchange.fate is Fate.WAITING

    @property
    def size(self) -> int:
        """Bytes of the request."""
        return self._exchange.request_size

    @property
    def answer_size(self) -> int:
        """Bytes of the answer so far."""
        return sum(kept if isinstance(kept, int) else len(kept) for kept in self._exchange.answer)

    @cached_property
    def topics(self) -> list[str]:
        """Names of the topics in the request, and of those whose records a fetch returned."""
        found = [] if self._request is None else topics_of(self._request, self._names)
        if self._head.key in (ApiKey.FETCH, ApiKey.SHARE_FETCH) and self._response is not None:
            found = list(dict.fromkeys([*found, *topics_of(self._response, self._names)]))
        return found

    @cached_property
    def group(self) -> str | None:
        """The first group that the request names, or None."""
        return None if self._request is None else next(iter(groups_of(self._request)), None)

    @cached_property
    def errors(self) -> list[Refusal]:
        """The errors of the answer, each with its topic and partition."""
        return [] if self._response is None else refusals_of(self._response, self._names)

    @property
    def failed(self) -> bool:
        """Whether the answer has an error, or the broker closed the connection instead of answering. The
        JoinGroup that only returns a new member's id (MEMBER_ID_REQUIRED) does not count as failed.
        """
        is_closed = self._exchange.fate is Fate.CLOSED
        return is_closed or any(error.error != ID_REQUIRED for error in self.errors)

    @property
    def outcome(self) -> str:
        """`ok`, the errors with their topics, or the reason why there is no answer."""
        word = _WORDS.get(self._exchange.fate)
        if word is not None:
            return word
        if not self.errors:
            return "ok" if self._response is not None else "answered"
        return _few([str(error) for error in self.errors])

    @cached_property
    def request(self) -> dict[str, Any] | None:
        """Fields of the request, records decoded; None if it was not recorded as a whole."""
        return None if self._request is None else as_values(self._request, self.version)

    @cached_property
    def response(self) -> dict[str, Any] | None:
        """Fields of the answer, records decoded as far as they were recorded; None if there is no answer."""
        return None if self._response is None else as_values(self._response, self.version)

    @cached_property
    def _request(self) -> Message | None:
        return read_request(self._exchange.request, self._head)

    @cached_property
    def _response(self) -> Message | None:
        return read_response(self._exchange.answer, self._head)

    def __repr__(self) -> str:
        """Return one line: time, client, API, topics and group, outcome and duration."""
        duration = "" if self.duration_ms is None else f" in {self.duration_ms:.1f} ms"
        parts = [
            clock_text(self._exchange.at_ns),
            self.client_id or "-",
            f"{self.api} v{self.version}" if self.api else f"{self.size} bytes that are no request",
            _few(self.topics),
            f"group {self.group}" if self.group else "",
        ]
        return printable(" ".join(part for part in parts if part) + f": {self.outcome}{duration}")


class ConnectionEvent:
    """A connection that was opened or closed, or a fault that the broker logged about its peer. Its `repr` is
    one line.
    """

    def __init__(self, event: RecordedEvent, broker_id: int) -> None:
        self.time = event.at_ns / 1e9
        """Time in seconds since the epoch."""
        self.broker_id = broker_id
        self.what = event.what
        """`opened`, `closed` or `complaint`."""
        self.peer = f"{event.host}:{event.port}" if event.port else event.host
        """Address of the client, with its port except for a complaint."""
        self.listener = event.listener
        self.principal = event.principal
        self.text = event.text
        """The reason of the end, such as `disconnected` or `refused login`, or the text of the complaint."""

    def __repr__(self) -> str:
        """Return one line: time, address, and what happened."""
        about = f": {self.text}" if self.text else ""
        return printable(f"{clock_text(int(self.time * 1e9))} {self.peer} {self.what}{about}")


def _few(texts: list[str]) -> str:
    more = len(texts) - MOST_SHOWN
    return ", ".join(texts[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
