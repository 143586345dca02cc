"""Questions to a recorder that are not possible."""

from __future__ import annotations

from typing import Any

import pytest

from kcompat.errors import UsageError
from kcompat.instrumentation.recording.recorder import Recorder


@pytest.mark.parametrize("question", [{"api": 0}, {"client_id": b"c"}, {"topic": 1}, {"since": "now"}])
def test_an_impossible_filter_is_refused_in_a_sentence(question: dict[str, Any]) -> None:
    record = Recorder().snapshot()
    ((name, value),) = question.items()
    with pytest.raises(UsageError, match=f"{name}={value!r} is not possible: use "):
        record.requests(**question)
