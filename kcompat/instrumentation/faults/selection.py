"""The requests that a fault affects: by API, client, topic and partition, their number and their rate."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from kcompat.api.registry import SERVED
from kcompat.errors import UsageError
from kcompat.instrumentation.faults.checks import check_names, check_partition, checked_rate, checked_times
from kcompat.instrumentation.faults.targets import means_all, names_partitions, names_topics, targets
from kcompat.protocol.api_keys import API_FACTS, ApiKey, request_class
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.plan import plan_message
from kcompat.wording import meant_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcompat.instrumentation.exchange import ReceivedRequest
    from kcompat.protocol.plan import StructPlan

APIS: Final = {api.key.name.title().replace("_", ""): api for api in SERVED}
"""The APIs that a broker serves, by Kafka's name, such as `Produce`."""


_RENAMED: Final = {
    "CONSUMER_COORDINATOR_NOT_AVAILABLE": "COORDINATOR_NOT_AVAILABLE",
    "GROUP_COORDINATOR_NOT_AVAILABLE": "COORDINATOR_NOT_AVAILABLE",
    "GROUP_LOAD_IN_PROGRESS": "COORDINATOR_LOAD_IN_PROGRESS",
    "INVALID_MESSAGE": "CORRUPT_MESSAGE",
    "MESSAGE_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "NOT_COORDINATOR_FOR_CONSUMER": "NOT_COORDINATOR",
    "NOT_COORDINATOR_FOR_GROUP": "NOT_COORDINATOR",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "OFFSETS_LOAD_IN_PROGRESS": "COORDINATOR_LOAD_IN_PROGRESS",
    "TOPIC_EXCEPTION": "INVALID_TOPIC_EXCEPTION",
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
}
"""Names that errors have in older releases of Kafka or in librdkafka, with the current names."""


class Selection:
    """The requests that a fault is about."""

    def __init__(
        self,
        api: str | None,
        *,
        topic: str | None = None,
        partition: int | None = None,
        client_id: str | None = None,
    ) -> None:
        """Select requests of an API by Kafka's name, or of every API. Raises UsageError for invalid
        arguments.
        """
        self.api = api
        self.key: ApiKey | None = None if api is None else api_key(api)
        self.topic = topic
        self.partition = partition
        self.client_id = client_id
        check_names(topic=topic, client_id=client_id)
        check_partition(partition, topic)
        if topic is not None:
            self._insist_on_topics()

    @property
    def needs_body(self) -> bool:
        """Whether the body of a request has to be decoded to decide whether the request is selected."""
        return self.topic is not None

    @property
    def names_peers(self) -> bool:
        """Whether requests of other brokers are selected too."""
        return self.client_id is not None or (self.key is not None and API_FACTS[self.key].cluster_action)

    def has_header(self, request: ReceivedRequest) -> bool:
        """Return whether the API and the client of a request are selected."""
        return (self.key is None or request.key is self.key) and self.client_id in (None, request.client_id)

    def has_body(self, request: ReceivedRequest, name_of: Callable[[bytes], str | None]) -> bool:
        """Return whether a request is about the selected topic and partition, if there is one. `name_of`
        finds names by ids.
        """
        if not self.needs_body:
            return True
        plan = plan_message(request_class(request.key), request.version)
        return self._means_all(request.message, plan, request.version) or any(
            self.has_target(*target, name_of) for target in targets(request.message, plan)
        )

    def has_topic(self, topic: str | bytes, name_of: Callable[[bytes], str | None]) -> bool:
        """Return whether a topic, by name or id, is selected."""
        return self.topic == (topic if isinstance(topic, str) else name_of(topic))

    def has_target(
        self, topic: str | bytes, partition: int | None, name_of: Callable[[bytes], str | None]
    ) -> bool:
        """Return whether a topic, by name or id, and partition are selected."""
        return self.has_topic(topic, name_of) and self.partition in (None, partition)

    def _means_all(self, message: Any, plan: StructPlan, version: int) -> bool:
        if self.key is ApiKey.METADATA and version == 0:
            return not message.topics
        return means_all(message, plan)

    def __str__(self) -> str:
        parts = [self.api or "every request"]
        if self.topic is not None:
            where = "" if self.partition is None else f"-{self.partition}"
            parts.append(f"of {self.topic}{where}")
        if self.client_id is not None:
            parts.append(f"by {self.client_id}")
        return " ".join(parts)

    def _insist_on_topics(self) -> None:
        if self.key is None:
            raise UsageError(
                f"topic={self.topic!r} needs an API that is about topics: name one, such as 'Produce'"
            )
        plan = plan_message(request_class(self.key), _latest(self.key))
        if not names_topics(plan):
            raise UsageError(f"{self.api} requests name no topics: leave out topic={self.topic!r}")
        if self.partition is not None and not names_partitions(plan):
            raise UsageError(f"{self.api} requests name no partitions: leave out partition={self.partition}")


class Chance:
    """Decisions which of the selected requests are affected: at most `times`, each with probability
    `rate`.
    """

    def __init__(self, times: int | None, rate: float, seed: int | str) -> None:
        """Make a sequence of decisions that depends only on `seed`. Raises UsageError."""
        self.times = checked_times(times)
        self.rate = checked_rate(rate)
        self.struck = 0
        """Number of requests affected so far."""
        self._random = Random(seed)  # noqa: S311 - repeatable on purpose

    @property
    def is_over(self) -> bool:
        """Whether no further request will be affected."""
        return self.times is not None and self.struck >= self.times

    def strikes(self) -> bool:
        """Decide about the next selected request, and count it if it is affected."""
        if self.is_over or (self.rate < 1 and self._random.random() >= self.rate):
            return False
        self.struck += 1
        return True


def api_key(name: str) -> ApiKey:
    """Return the key of an API by Kafka's name, such as `Produce`. Raises UsageError for an unknown name."""
    found = APIS.get(name) if isinstance(name, str) else None
    if found is None:
        raise UsageError(f"{name!r} is not an API that brokers serve: {_hint(name, APIS, 'Produce')}")
    return found.key


def error_code(name: str) -> ErrorCode:
    """Return an error by Kafka's name. Raises UsageError for an unknown name, and for NONE."""
    known = [each for each in ErrorCode.__members__ if each != "NONE"]
    if name in known:
        return ErrorCode[name]
    if name == "NONE":
        raise UsageError("'NONE' is not an error: use the name of one, such as 'REQUEST_TIMED_OUT'")
    if isinstance(name, str) and name in _RENAMED:
        raise UsageError(f"{name!r} is an older name of an error: use {_RENAMED[name]!r}")
    raise UsageError(f"{name!r} is not an error of Kafka: {_hint(name, known, 'NOT_LEADER_OR_FOLLOWER')}")


def served_versions(key: ApiKey) -> range:
    """Return the versions of an API that a broker serves."""
    served = next(api for api in SERVED if api.key is key)
    return range(served.min_version, served.max_version + 1)


def _latest(key: ApiKey) -> int:
    return served_versions(key)[-1]


def _hint(name: str, known: Iterable[str], example: str) -> str:
    meant = meant_name(name, known)
    return f"use Kafka's name, such as {example!r}" if meant is None else f"did you mean {meant!r}?"
