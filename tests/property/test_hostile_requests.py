"""Damaged requests of every API and version decode or are a protocol violation, quickly; nothing else
happens.
"""

from __future__ import annotations

import struct
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kcompat.protocol.api_keys import API_FACTS, request_class
from kcompat.protocol.compiling import read_request_header
from kcompat.protocol.schema import ProtocolViolation
from support.fuzzing import examples
from support.hostile_frames import length_lies, mutations, noise, truncations, valid_frame

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

VALUES = {
    "string": "abc",
    "bytes": b"xyz",
    "records": b"1234",
    "bool": True,
    "uuid": bytes(16),
    "float64": 1.5,
}
REQUESTS = [(key, version) for key, facts in API_FACTS.items() for version in facts.versions]


def choose(name: str, kind: str) -> Any:
    return VALUES.get(kind, 1)


def read(frame: bytes) -> str:
    view = memoryview(frame)[4:]
    started = time.process_time()
    try:
        key, version = struct.unpack_from(">hh", view)
        if (key, version) not in REQUESTS:
            return "refused"
        _, _, body = read_request_header(view, API_FACTS[key].request_header_version(version))
        request_class(key).decode(view, version, body)
    except (ProtocolViolation, struct.error):
        return "refused"
    finally:
        assert time.process_time() - started < 1
    return "read"


def read_all(frames: Iterable[bytes]) -> Counter[str]:
    return Counter(read(frame) for frame in frames if len(frame) >= 4)


@given(st.sampled_from(REQUESTS), st.randoms(use_true_random=True))
@settings(max_examples=examples(400), deadline=None)
def test_damaged_requests(request: tuple[int, int], random: Random) -> None:
    frame = valid_frame(*request, choose)
    assert read(frame) == "read"
    read_all(mutations(frame, random, 20))
    read_all(length_lies(frame, random, 20))


@given(st.sampled_from(REQUESTS))
@settings(deadline=None)
def test_a_request_cut_short_anywhere_is_refused(request: tuple[int, int]) -> None:
    frame = valid_frame(*request, choose)
    assert set(read_all(truncations(frame))) == {"refused"}


@given(st.randoms(use_true_random=True))
@settings(deadline=None)
def test_noise(random: Random) -> None:
    assert read_all(noise(random, 100))["refused"] > 50
