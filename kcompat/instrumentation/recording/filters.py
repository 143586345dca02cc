"""The filters by which recorded requests are selected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcompat.errors import UsageError
from kcompat.instrumentation.recording.entry import api_name, api_named
from kcompat.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from kcompat.instrumentation.recording.entry import RecordedRequest


class WantedRequests(Struct, frozen=True):
    """The requests to select; None stands for any."""

    client_id: str | None
    api: str | None
    topic: str | None
    errors_only: bool

    @classmethod
    def of(
        cls, client_id: str | None, api: str | None, topic: str | None, *, errors_only: bool
    ) -> WantedRequests:
        """Return filters. `api` may be in any case, with or without underscores.

        Raises:
            UsageError: there is no such API, or a filter is not a string.
        """
        given: dict[str, object] = {"client_id": client_id, "api": api, "topic": topic}
        for name, value in given.items():
            if not (value is None or isinstance(value, str)):
                raise UsageError(f"{name}={value!r} is not possible: use a string")
        if api is None:
            return cls(client_id, None, topic, errors_only)
        key = api_named(api)
        if key is None:
            known = ", ".join(map(api_name, ApiKey))
            raise UsageError(f"{api!r} is not the name of an API: use one of {known}")
        return cls(client_id, api_name(key), topic, errors_only)

    @property
    def everything(self) -> bool:
        """Whether no request is left out."""
        return (self.client_id, self.api, self.topic, self.errors_only) == (None, None, None, False)

    def includes(self, request: RecordedRequest) -> bool:
        """Return whether a request passes. Filters that need the least decoding are checked first."""
        return (
            self.client_id in (None, request.client_id)
            and self.api in (None, request.api)
            and (self.topic is None or self.topic in request.topics)
            and (not self.errors_only or request.failed)
        )
