"""What a version of a message can carry comes back as it was, and is written as a plain encoder does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcompat.protocol.schema import ProtocolViolation, decoder, encoder
from kcompat.testing.messages import message_classes

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
    @settings(max_examples=4, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(message=messages(cls, version), lead=st.binary(max_size=2), trail=st.binary(max_size=2))
    def check(message, lead, trail):
        wire = b"".join(encoder(cls, version)(message))
        assert wire == reference.encode(message, version)
        decoded, end = decoder(cls, version)(memoryview(lead + wire + trail), len(lead))
        assert decoded == message
        assert end == len(lead) + len(wire)

    check()


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_any_bytes_are_a_message_or_a_violation(cls):
    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(version=st.sampled_from(list(cls.versions)), wire=st.binary(max_size=64))
    def check(version, wire):
        try:
            message, end = decoder(cls, version)(memoryview(wire), 0)
        except ProtocolViolation:
            return
        assert end <= len(wire)
        wire = b"".join(message.encode(version))
        again, _ = decoder(cls, version)(memoryview(wire), 0)
        assert b"".join(again.encode(version)) == wire

    check()
