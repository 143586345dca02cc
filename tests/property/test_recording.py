"""Recording of any bytes, which never fails: recorders stand in the way of every request."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kcompat.instrumentation.recording.capture import Keeping
from kcompat.instrumentation.recording.entry import RecordedRequest
from kcompat.instrumentation.recording.secrets import SECRET_ANSWERS, SECRET_REQUESTS
from kcompat.instrumentation.recording.showing import shown_fields
from kcompat.protocol.api_keys import API_FACTS, response_class
from support.fuzzing import examples
from support.hostile_frames import mutations, noise, truncations, valid_frame
from support.messages import sample
from support.recorded import answer_of, exchange_of

SMALL = Keeping(frame=200)
"""Sizes that make many frames too large."""
KINDS = [(key, version) for key, facts in API_FACTS.items() for version in facts.versions]


VALUES = {
    "string": "abc",
    "bytes": b"xyz",
    "records": b"1234",
    "bool": True,
    "uuid": bytes(16),
    "float64": 1.5,
}


def choose(_name: str, kind: str) -> Any:
    return VALUES.get(kind, 1)


def look_at(frame: bytes, answer: list[bytes]) -> None:
    """Record, and use all that is shown of the request."""
    for keeping in (SMALL, Keeping(frame=1 << 20, records=1 << 20)):
        request = RecordedRequest(exchange_of(frame, answer, keeping), 0, {})
        assert repr(request).count("\n") == 0
        assert all(isinstance(line, str) for line in shown_fields(request))
        _ = request.topics, request.group, request.errors, request.failed


@pytest.mark.parametrize("seed", range(examples(20)))
def test_any_bytes_are_recorded_and_shown(seed: int) -> None:
    random = Random(seed)
    for key, version in random.sample(KINDS, 20):
        frame = valid_frame(key, version, choose)
        answer = [bytes(each) for each in answer_of(sample(response_class(key), version), version)]
        look_at(frame[4:], answer)
        for damaged in (*mutations(frame, random, 5), *list(truncations(frame))[:5]):
            look_at(damaged[4:], [random.randbytes(random.randrange(300))])
    for frame in noise(random, 5):
        look_at(frame[4:], [b""])


@pytest.mark.parametrize("key", sorted(SECRET_REQUESTS | SECRET_ANSWERS))
def test_damaged_requests_with_secrets_are_recorded(key: int) -> None:
    random = Random(key)
    for version in API_FACTS[key].versions:
        frame = valid_frame(key, version, choose)
        answer = b"".join(answer_of(sample(response_class(key), version), version))
        for damaged in mutations(frame, random, examples(30)):
            look_at(damaged[4:], [answer])
            look_at(frame[4:], [answer[: random.randrange(len(answer))]])
