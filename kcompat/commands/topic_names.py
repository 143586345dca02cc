"""Names of topics as commands select them: a list or a regular expression.

Kafka's counterpart: `TopicFilter`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcompat.admin.errors import JavaError
from kcompat.topics import is_internal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcompat.commands.options import Options


def topic_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of a list of topics, in which commas separate alternatives. Raises JavaError."""
    cleaned = re.sub("^[\"']+|[\"']+$", "", text.strip().replace(",", "|").replace(" ", ""))
    try:
        return re.compile(cleaned)
    except re.error:
        error = JavaError("RuntimeException", f"{cleaned} is an invalid regex.", package="java.lang.")
        raise error from None


def matching(names: Iterable[str], text: str | None, *, internal: bool) -> list[str]:
    """Return the names that the list or pattern selects, all if it is None; without `internal`, none of the
    brokers' own topics.
    """
    pattern = None if text is None else topic_pattern(text)
    return [
        name
        for name in names
        if (internal or not is_internal(name)) and (pattern is None or pattern.fullmatch(name))
    ]


def insist(found: Sequence[str], options: Options) -> None:
    """Raise JavaError if `--topic` selects no topic, unless `--if-exists` allows that."""
    wanted = options.value("topic")
    if wanted and not found and not options.has("if-exists"):
        message = f"Topic '{wanted}' does not exist as expected"
        raise JavaError("IllegalArgumentException", message, package="java.lang.")
