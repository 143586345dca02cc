"""The partitions of topics and their leaders, as metadata shows them to a producer or a consumer."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final

from kcompat.admin.client import ANY
from kcompat.admin.errors import JavaError, timed_out
from kcompat.admin.log_lines import NETWORK_CLIENT, log_line
from kcompat.admin.waiting import pause
from kcompat.protocol.errors import ErrorCode, error_of
from kcompat.protocol.messages.metadata import MetadataRequest

if TYPE_CHECKING:
    from kcompat.admin.client import AdminClient
    from kcompat.protocol.messages.metadata import MetadataResponse

    Leaders = dict[int, int]
    """The broker that leads each partition of a topic, -1 where there is none."""

_PAUSE_S: Final = 0.1


class TopicView:
    """The leaders of some topics: of named ones, or of all whose names match a pattern."""

    def __init__(self, admin: AdminClient, who: str, names: list[str], pattern: str | None = None) -> None:
        """`who` names the client in log lines, as `Producer clientId=console-producer`.

        Raises JavaError for an invalid pattern.
        """
        self._admin = admin
        self._who = who
        self._names = names
        try:
            self._pattern = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise JavaError("PatternSyntaxException", f"{error}", package="java.util.regex.") from None
        self.leaders: dict[str, Leaders] = {}
        """Leaders of the partitions by topic; empty before `refresh`."""
        self.names: dict[bytes, str] = {}
        """Names of the topics by their ids, from brokers that have ids."""

    def refresh(self, timeout_ms: float | None = None) -> dict[str, ErrorCode]:
        """Ask for the present leaders; return the topics that are not there, with their errors.

        `timeout_ms` is the longest time to look for a broker that answers; without it, a setting says that.

        A broker that creates topics when they are first used does so.

        Raises:
            JavaError: a topic cannot be used: its name is not valid, or the client may not see it.
        """
        rows = None if self._pattern else [MetadataRequest.MetadataRequestTopic(name=n) for n in self._names]
        request = MetadataRequest(rows, self._pattern is None)
        response = self._admin.ask(request, ANY, name="metadata", timeout_ms=timeout_ms)
        found = {
            row.name or "": row
            for row in response.topics
            if self._pattern is None or (self._pattern.fullmatch(row.name or "") and not row.is_internal)
        }
        self.leaders = {name: _leaders(row) for name, row in found.items() if not row.error_code}
        self.names = {row.topic_id: name for name, row in found.items() if not row.error_code}
        failed = {name: error_of(row.error_code) for name, row in found.items() if row.error_code}
        if failed and self._pattern is None:
            self._report(failed)
        return failed

    def try_refresh(self, timeout_ms: float) -> bool:
        """Ask for the leaders, and return whether a broker has answered in time. Raises JavaError."""
        try:
            self.refresh(timeout_ms)
        except JavaError as error:
            if error.code != ErrorCode.REQUEST_TIMED_OUT:
                raise
            return False
        return True

    def _report(self, failed: dict[str, ErrorCode]) -> None:
        """Log the errors of topics; raise JavaError for those that stay."""
        denied = [name for name, code in failed.items() if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        if denied:
            raise JavaError(
                "TopicAuthorizationException",
                f"Not authorized to access topics: [{', '.join(denied)}]",
                ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            )
        shown = ", ".join(f"{name}={code.name}" for name, code in failed.items())
        log_line(
            "WARN",
            f"[{self._who}] The metadata response from the cluster reported a recoverable issue: {{{shown}}}",
            NETWORK_CLIENT,
        )
        invalid = [name for name, code in failed.items() if code == ErrorCode.INVALID_TOPIC_EXCEPTION]
        if invalid:
            shown = f"[{', '.join(invalid)}]"
            log_line(
                "ERROR",
                f"[{self._who}] Metadata response reported invalid topics {shown}",
                "org.apache.kafka.clients.Metadata",
            )
            raise JavaError(
                "InvalidTopicException",
                f"Invalid topics: {shown}",
                ErrorCode.INVALID_TOPIC_EXCEPTION,
            )

    def await_topic(self, name: str, timeout_ms: int) -> Leaders:
        """Return the leaders of a topic, waiting at most this long until it exists. Raises JavaError."""
        end = time.monotonic() + timeout_ms / 1000
        while not self.leaders.get(name):
            left_ms = 1000 * (end - time.monotonic())
            if left_ms <= 0:
                raise timed_out(f"Topic {name} not present in metadata after {timeout_ms} ms.")
            if self.try_refresh(left_ms) and not self.leaders.get(name):
                pause(_PAUSE_S)
        return self.leaders[name]


def _leaders(row: MetadataResponse.MetadataResponseTopic) -> Leaders:
    return {each.partition_index: each.leader_id for each in row.partitions}
