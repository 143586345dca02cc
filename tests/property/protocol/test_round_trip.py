"""Fields that a version of a message has are decoded as they were encoded, and encoded as by a plain
encoder.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompat.protocol.schema import ProtocolViolation
from support.codecs import CODECS
from support.fuzzing import examples
from support.messages import message_classes

from . import reference
from .strategies import messages

CLASSES = message_classes()


def test_every_message_is_found():
    assert len(CLASSES) == 256


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_round_trip(cls):
    for version in cls.versions:
        _check_version(cls, version)


def _check_version(cls, version):
    @settings(max_examples=examples(4), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(message=messages(cls, version), lead=st.binary(max_size=2), trail=st.binary(max_size=2))
    def check(message, lead, trail):
        for codec in CODECS:
            wire = b"".join(codec.compile_encoder(cls, version)(message))
            assert wire == reference.encode(message, version)
            decode = codec.compile_decoder(cls, version)
            decoded, end = decode(memoryview(lead + wire + trail), len(lead))
            assert decoded == message
            assert end == len(lead) + len(wire)

    check()


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_any_bytes_are_a_message_or_a_violation(cls):
    @settings(
        max_examples=examples(10), deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(version=st.sampled_from(list(cls.versions)), wire=st.binary(max_size=64))
    def check(version, wire):
        for codec in CODECS:
            decode, encode = codec.compile_decoder(cls, version), codec.compile_encoder(cls, version)
            try:
                message, end = decode(memoryview(wire), 0)
            except ProtocolViolation:
                continue
            assert end <= len(wire)
            written = b"".join(encode(message))
            again, _ = decode(memoryview(written), 0)
            assert b"".join(encode(again)) == written

    check()
