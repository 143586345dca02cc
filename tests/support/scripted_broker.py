"""A broker at the other end of a connection, which answers what a test says it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcompat.net.answers import Close, Mode, Waiting
from kcompat.promise import Promise
from kcompat.protocol.api_keys import API_FACTS, ApiKey, request_class, response_class
from kcompat.protocol.compiling import compile_framer, read_request_header
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.messages.api_versions import ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcompat.net.answers import Answer, Connection, Piece
    from kcompat.protocol.message import Message


class Asked:
    """One request that came, and how."""

    def __init__(self, key: ApiKey, version: int, client_id: str | None, request: Any) -> None:
        self.key = key
        self.version = version
        self.client_id = client_id
        self.request = request


class ScriptedBroker:
    """A frame handler. `answer(asked)` gives a response, a promise of one, or CLOSE; `served`
    are the ranges of versions it says it serves, and ApiVersions is answered by itself.
    """

    max_frame: int | None = None

    def __init__(
        self,
        answer: Callable[[Asked], Any],
        served: Mapping[ApiKey, range] | None = None,
    ) -> None:
        self._answer = answer
        known = {facts.key: facts.versions for facts in API_FACTS.values()}
        self.served = dict(known if served is None else served)
        self.asked: list[Asked] = []
        """Requests that have come, except ApiVersions."""
        self.versions_asked: list[int] = []
        """The versions in which ApiVersions came."""

    def on_frame(self, _connection: Connection, frame: memoryview) -> Answer:
        key = ApiKey(int.from_bytes(frame[:2], "big"))
        version = int.from_bytes(frame[2:4], "big")
        if key == ApiKey.API_VERSIONS:
            return self._tell_versions(version, int.from_bytes(frame[4:8], "big"))
        facts = API_FACTS[key]
        correlation_id, client_id, start = read_request_header(frame, facts.request_header_version(version))
        request = request_class(key).decode(memoryview(bytes(frame)), version, start)
        self.asked.append(Asked(key, version, client_id, request))
        response = self._answer(self.asked[-1])
        if isinstance(response, Close):
            return response
        write = compile_framer(response_class(key), version)

        def framed(response: Message) -> Answer:
            pieces: list[Piece] = write(response, correlation_id, facts.response_header_version(version))
            return pieces

        if isinstance(response, Promise):
            return Waiting(response.map(framed), Mode.PIPELINED)
        return framed(response)

    def _tell_versions(self, version: int, correlation_id: int) -> Answer:
        self.versions_asked.append(version)
        rows = [
            ApiVersionsResponse.ApiVersion(key, versions[0], versions[-1])
            for key, versions in self.served.items()
        ]
        response = ApiVersionsResponse(api_keys=rows)
        if version not in self.served[ApiKey.API_VERSIONS]:
            response.error_code = ErrorCode.UNSUPPORTED_VERSION
            version = 0
        return compile_framer(ApiVersionsResponse, version)(response, correlation_id, 0)

    def ends_wait(self, _frame: memoryview) -> bool:
        return True
