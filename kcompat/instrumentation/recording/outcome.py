"""The topics and groups that messages name, and the errors that a response holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.uuids import ZERO_UUID, uuid_to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Names = Mapping[bytes, str]
    """Names of topics by their ids."""

_TOPIC_NAMES: Final = ("topic", "topic_name")
_TOPIC_LISTS: Final = frozenset({"topic_names", "subscribed_topic_names"})
_PARTITION: Final = ("partition_index", "partition", "partition_id", "index")
_SUBJECTS: Final = ("resource_name", "group_id", "key", "user", "transactional_id", "name")
"""Fields whose value names the subject of an error that has no topic."""
_ERROR_NAMES: Final = {int(error): error.name for error in ErrorCode}
TOPIC_RESOURCE: Final = 2
"""Number of topics among the types of resources that have configs."""
GROUP_KEY: Final = 0
"""Number of groups among the types of keys that have a coordinator."""


class Refusal(Struct, frozen=True):
    """One error of a response."""

    error: str
    """Kafka's name of the error, such as `NOT_LEADER_OR_FOLLOWER`."""
    topic: str | None = None
    partition: int | None = None
    subject: str | None = None
    """Subject of an error that is not about a topic, such as a group."""
    message: str | None = None
    """The broker's own message, if the response has one."""

    def __str__(self) -> str:
        """Return the subject and the error, such as `orders-0 NOT_LEADER_OR_FOLLOWER`."""
        place = self.topic if self.partition is None else f"{self.topic or ''}-{self.partition}"
        return " ".join(each for each in (place or self.subject, self.error) if each)


def topics_of(message: Any, names: Names) -> list[str]:
    """Return the topics that a message names, each once, in order. The text of the id stands for a topic
    without a known name.
    """
    return list(dict.fromkeys(_topics(message, names)))


def _topics(value: Any, names: Names) -> Iterator[str]:
    for each in _structs(value):
        topic = _topic(each, names)
        if topic is not None:
            yield topic
        for name in _TOPIC_LISTS.intersection(each.__struct_fields__):
            yield from getattr(each, name) or ()


def groups_of(message: Any) -> list[str]:
    """Return the groups that a message names, each once, in order."""
    found: dict[str, None] = {}
    for each in _structs(message):
        fields = each.__struct_fields__
        if "group_id" in fields:
            found[each.group_id] = None
        if "groups_names" in fields:
            found |= dict.fromkeys(each.groups_names)
        if "coordinator_keys" in fields and each.key_type == GROUP_KEY:
            found |= dict.fromkeys([*each.coordinator_keys, each.key])
        for item in getattr(each, "groups", None) or ():
            if isinstance(item, str):
                found[item] = None
    return [each for each in found if each]


def refusals_of(message: Any, names: Names) -> list[Refusal]:
    """Return the errors of a response, in order."""
    return list(_refusals(message, names, None, None))


def _refusals(value: Any, names: Names, topic: str | None, subject: str | None) -> Iterator[Refusal]:
    topic = _topic(value, names) or topic
    fields = value.__struct_fields__
    subject = next((text for text in _texts(value, _SUBJECTS)), subject)
    partition = next((getattr(value, name) for name in _PARTITION if name in fields), None)
    for name in fields:
        inner = getattr(value, name)
        if name.endswith("error_code"):
            if inner:
                text = getattr(value, name.removesuffix("code") + "message", None)
                yield Refusal(_error_name(inner), topic, partition, None if topic else subject, text or None)
        elif isinstance(inner, Struct):
            yield from _refusals(inner, names, topic, subject)
        elif isinstance(inner, list) and inner and isinstance(inner[0], Struct):
            for item in inner:
                yield from _refusals(item, names, topic, subject)


def _error_name(code: int) -> str:
    return _ERROR_NAMES.get(code, f"error {code}")


def _structs(value: Any) -> Iterator[Any]:
    """Yield a message and all structs in it."""
    yield value
    for name in value.__struct_fields__:
        inner = getattr(value, name)
        if isinstance(inner, Struct):
            yield from _structs(inner)
        elif isinstance(inner, list) and inner and isinstance(inner[0], Struct):
            for item in inner:
                yield from _structs(item)


def _topic(value: Any, names: Names) -> str | None:
    """Return the topic that a struct is about, or None."""
    fields = value.__struct_fields__
    named = next((text for text in _texts(value, _TOPIC_NAMES)), None)
    if named is None and "name" in fields and "Topic" in type(value).__name__ and "value" not in fields:
        named = value.name
    if named is None and getattr(value, "resource_type", None) == TOPIC_RESOURCE:
        named = getattr(value, "resource_name", None)
    topic_id = getattr(value, "topic_id", ZERO_UUID)
    if not named and topic_id != ZERO_UUID:
        return names.get(bytes(topic_id)) or uuid_to_text(bytes(topic_id))
    return named or None


def _texts(value: Any, candidates: tuple[str, ...]) -> Iterator[str]:
    for name in candidates:
        text = getattr(value, name, None)
        if text and isinstance(text, str):
            yield text
