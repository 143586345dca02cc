"""Counts and durations of requests by API and version (Kafka's `RequestMetrics`).

An interceptor adds each request to a histogram. A request that is answered at once costs two readings of the
clock and one addition. A request that waits is added when it is answered, with the time until its handler had
returned (local) and the time after that (remote). Kafka too counts requests when they are answered.
"""

from __future__ import annotations

import struct
from functools import partial
from struct import error as StructError  # noqa: N812 - the module's own name says nothing
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final, NamedTuple

from kcompat.api.api_versions import FIRST_WITH_SOFTWARE, has_valid_software
from kcompat.net.answers import Waiting
from kcompat.observe.histogram import BUCKETS, SHORTEST_NS, bucket_of, new_histogram
from kcompat.peer.client_ids import is_of_broker
from kcompat.protocol.api_keys import API_FACTS, ApiKey, request_class
from kcompat.protocol.compiling import read_request_header
from kcompat.protocol.message import decoder
from kcompat.protocol.messages.api_versions import ApiVersionsRequest
from kcompat.protocol.schema import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcompat.cluster.image import ImageHolder
    from kcompat.net.answers import Answer, Connection
    from kcompat.net.interception import ObservedConnection, Serve

MOST_SOFTWARES: Final = 100
"""Maximum number of names and versions of client software that are counted apart; further ones are counted as
`OTHER`.
"""

FETCH_CONSUMER: Final = "FetchConsumer"
FETCH_FOLLOWER: Final = "FetchFollower"
"""Kafka's names for fetches of consumers and of followers."""

NEWEST_DEPRECATED: Final = {
    ApiKey.PRODUCE: 2,
    ApiKey.FETCH: 3,
    ApiKey.LIST_OFFSETS: 0,
    ApiKey.OFFSET_COMMIT: 1,
    ApiKey.OFFSET_FETCH: 0,
    ApiKey.CREATE_TOPICS: 1,
    ApiKey.DELETE_TOPICS: 0,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 1,
    ApiKey.DESCRIBE_ACLS: 0,
    ApiKey.CREATE_ACLS: 0,
    ApiKey.DELETE_ACLS: 0,
    ApiKey.DESCRIBE_CONFIGS: 0,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 0,
    ApiKey.DESCRIBE_LOG_DIRS: 0,
    ApiKey.CREATE_DELEGATION_TOKEN: 0,
    ApiKey.RENEW_DELEGATION_TOKEN: 0,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 0,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 0,
}
"""Newest deprecated version of each API that has any; all older ones are deprecated too.

Kafka 4.0 no longer serves these versions (KIP-896). The list is that of `ApiKeys.isVersionDeprecated` of
Kafka 3.9.2; a test compares it with Kafka.
"""

_KEY_AND_VERSION = struct.Struct(">hh").unpack_from
_LAST: Final = BUCKETS - 1


class Software(NamedTuple):
    """The software of a client, as it named itself in ApiVersions (KIP-511)."""

    name: str
    version: str


UNKNOWN: Final = Software("unknown", "unknown")
OTHER: Final = Software("other", "other")


class RequestCounts:
    """Requests of one version of an API, in histograms of their durations."""

    __slots__ = (
        "at_once",
        "is_deprecated",
        "is_special",
        "key",
        "local",
        "name",
        "remote",
        "total",
        "version",
    )

    def __init__(self, key: ApiKey, version: int, name: str) -> None:
        self.key = key
        self.version = version
        self.name = name
        """Kafka's name of the API."""
        self.is_deprecated = is_deprecated(key, version)
        names_software = key is ApiKey.API_VERSIONS and version >= FIRST_WITH_SOFTWARE
        self.is_special = self.is_deprecated or names_software or key is ApiKey.FETCH
        self.at_once = new_histogram()
        """Histogram of requests that were answered at once: of their local time, which is their total time.
        """
        self.local = new_histogram()
        self.remote = new_histogram()
        self.total = new_histogram()


class RequestObserver:
    """An interceptor that counts requests, and an observer of connections that forgets closed ones."""

    def __init__(
        self, metadata: Callable[[], ImageHolder], now_ns: Callable[[], int] = perf_counter_ns
    ) -> None:
        """Begin without requests. `metadata` returns the holder of the broker's metadata image."""
        self._metadata = metadata
        self._now_ns = now_ns
        self._counts: dict[tuple[int, int], RequestCounts] = {}
        self._of_followers: dict[int, RequestCounts] = {}
        """Counts of followers' fetches, by version."""
        self._followers: dict[object, bool] = {}
        """For each connection that has sent a Fetch, whether it belongs to a broker."""
        self._softwares: dict[object, Software] = {}
        self._known: set[Software] = set()
        self.deprecated: dict[tuple[str, int, Software], int] = {}
        """Number of requests in deprecated versions, by API, version and software of the client."""

    def counts(self) -> Iterable[RequestCounts]:
        """Return the counts of all versions that were requested."""
        return [*self._counts.values(), *self._of_followers.values()]

    def software_of(self, connection: object) -> Software:
        """Return the software of the client of an open connection."""
        return self._softwares.get(connection, UNKNOWN)

    # As an interceptor

    def intercept(self, serve: Serve, connection: Connection, frame: memoryview) -> Answer:
        """Serve the frame and count it."""
        try:
            counts = self._counts.get(_KEY_AND_VERSION(frame)) or self._learn(frame)
        except StructError:
            counts = None
        if counts is None:
            return serve(connection, frame)
        if counts.is_special:
            counts = self._look_at(counts, connection, frame)
        began = self._now_ns()
        answer = serve(connection, frame)
        ns = self._now_ns() - began
        if type(answer) is Waiting:
            answer.promise.then(partial(self._answered, counts, began, ns), _ignore)
            return answer
        if ns < SHORTEST_NS:
            ns = SHORTEST_NS
        bits = ns.bit_length()  # as `histogram.bucket_of`, without a call
        bucket = (bits << 2) + (ns >> (bits - 3) & 3)
        counts.at_once[bucket if bucket < BUCKETS else _LAST] += 1
        return answer

    def _answered(self, counts: RequestCounts, began: int, local: int, answer: Answer) -> None:
        """Count a request that has waited, unless it waits again."""
        if isinstance(answer, Waiting):
            answer.promise.then(partial(self._answered, counts, began, local), _ignore)
            return
        total = self._now_ns() - began
        counts.local[bucket_of(local)] += 1
        counts.remote[bucket_of(total - local)] += 1
        counts.total[bucket_of(total)] += 1

    def _learn(self, frame: memoryview) -> RequestCounts | None:
        """Return new counts for a version that is requested for the first time; None if it does not exist."""
        number, version = _KEY_AND_VERSION(frame)
        facts = API_FACTS.get(number)
        if facts is None or version not in facts.versions:
            return None
        is_fetch = facts.key is ApiKey.FETCH
        name = FETCH_CONSUMER if is_fetch else request_class(facts.key).__name__.removesuffix("Request")
        if is_fetch:
            self._of_followers[version] = RequestCounts(facts.key, version, FETCH_FOLLOWER)
        counts = self._counts[number, version] = RequestCounts(facts.key, version, name)
        return counts

    def _look_at(self, counts: RequestCounts, connection: Connection, frame: memoryview) -> RequestCounts:
        """Record the client software of a request; return the counts that the request belongs to."""
        if counts.key is ApiKey.FETCH:
            is_follower = self._followers.get(connection)
            if is_follower is None:
                is_follower = self._followers[connection] = self._is_of_follower(counts.version, frame)
            if is_follower:
                counts = self._of_followers[counts.version]
        elif counts.key is ApiKey.API_VERSIONS:
            self._note_software(counts.version, connection, frame)
        if counts.is_deprecated:
            key = counts.name, counts.version, self.software_of(connection)
            self.deprecated[key] = self.deprecated.get(key, 0) + 1
        return counts

    def _is_of_follower(self, version: int, frame: memoryview) -> bool:
        try:
            header_version = API_FACTS[ApiKey.FETCH].request_header_version(version)
            _, client_id, _ = read_request_header(frame, header_version)
        except (ProtocolViolation, StructError):
            return False
        return is_of_broker(ApiKey.FETCH, client_id, self._metadata().image.brokers)

    def _note_software(self, version: int, connection: Connection, frame: memoryview) -> None:
        try:
            header_version = API_FACTS[ApiKey.API_VERSIONS].request_header_version(version)
            _, _, body = read_request_header(frame, header_version)
            request, _ = decoder(ApiVersionsRequest, version)(frame, body, _MOST_VALUES)
        except (ProtocolViolation, StructError):
            return
        if not has_valid_software(request):
            return
        software = Software(request.client_software_name, request.client_software_version)
        if software not in self._known:
            if len(self._known) >= MOST_SOFTWARES:
                software = OTHER
            self._known.add(software)
        self._softwares[connection] = software

    # As an observer of connections

    def opened(self, connection: ObservedConnection) -> None:
        """Do nothing: a connection is examined when it sends a request."""

    def closed(self, connection: ObservedConnection, _reason: str) -> None:
        """Forget a connection."""
        self._followers.pop(connection, None)
        self._softwares.pop(connection, None)

    def complained(self, _host: str, _message: str) -> None:
        """Do nothing: complaints are in the log."""


_MOST_VALUES: Final = 100
"""Maximum number of array elements and fields of an ApiVersions request."""


def _ignore(_error: Exception) -> None:
    """Do not count a request whose answer has failed: the dispatcher logs it."""


def is_deprecated(key: ApiKey, version: int) -> bool:
    """Return whether a version of an API is deprecated."""
    return version <= NEWEST_DEPRECATED.get(key, -1)
